// Linked into programs for Node.js: gives them the environment of their process, which Emscripten hides otherwise.
Module.preRun = [() => Object.assign(ENV, process.env)];
