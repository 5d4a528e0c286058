/** The entry for Node.js: everything is synchronous. */
import './in_node.js';

export * from './index.js';
