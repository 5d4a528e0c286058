/** Objects as plain JSON: their class and its config. */
import type { Config } from './layer.js';
import { module } from './module.js';

/** The functions of a family that write and read its objects, as in Keras. */
export interface Serialization<Kind> {
  /**
   * The class and the config of an object as plain JSON, for the `getConfig` of a class that has the object. A name and
   * a number stay as they are. Throws EtudeError "value" if the class is not registered.
   */
  serialize(object: Kind): Config;
  serialize<Given extends string | number | null | undefined>(given: Kind | Given): Config | Given;
  /** A new object of such a config, for the `fromConfig` of that class. */
  deserialize(config: Config): Kind;
  deserialize<Given extends string | number | null | undefined>(config: Config | Given): Kind | Given;
}

const isObject = (given: unknown): given is object => typeof given === 'object' && given !== null;

/** `kind` is the name of the kind of classes in the module. */
export const serialize = (kind: string, given: unknown): unknown => (isObject(given) ? JSON.parse(module.serialize(kind, given)) : given);
export const deserialize = (kind: string, config: unknown): unknown => (isObject(config) ? module.deserialize(kind, JSON.stringify(config)) : config);

export const serialization = <Kind>(kind: string): Serialization<Kind> => ({
  serialize: (given: unknown) => serialize(kind, given) as Config,
  deserialize: (config: unknown) => deserialize(kind, config) as Kind,
});
