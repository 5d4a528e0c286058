// Linked into programs for Node.js: they get the environment of their process, which Emscripten's do not see otherwise.
Module.preRun = [() => Object.assign(ENV, process.env)];
