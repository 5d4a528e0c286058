/** The entry for Node.js: nothing of it waits. */
import './in_node.js';

export * from './index.js';
