/** etude-ml/lite for Node.js: everything is synchronous. */
import './in_node.js';

export * from './lite.js';
