/** Names of the package that etude-ml/lite does not have. */
import { nativeError } from './error.js';
import { notInLite } from './parts.js';

const refuse = (where: string): never => {
  throw nativeError(notInLite(where), 'state');
};

/** Stands for names of 'etude-ml': a use of one, or of a member of it, throws EtudeError "state". */
export const absent = new Proxy({} as Record<keyof typeof import('./index.js'), never>, {
  get(_, name: string) {
    const used = () => refuse(name);
    // A class that extends it asks for `prototype` first.
    const get = (target: object, member: string | symbol) =>
      typeof member === 'symbol' || member === 'prototype' ? (Reflect.get(target, member) as unknown) : refuse(`${name}.${member}`);
    return new Proxy(function () {}, { get, apply: used, construct: used });
  },
});
