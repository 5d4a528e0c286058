/** The arguments of layer.apply and layer.applyAll. */
import { describe, fail } from './error.js';

/** What to write instead of the arguments that calls of layers have in Keras. */
const instead = new Map(Object.entries({
  training: 'leave it out: fit calls layers for training, and predict does not; or write model.call(x, true)',
  initialState: 'pass the states beside the input: apply([x, state])',
  attentionMask: 'pass it in the list: apply([query, value, key, attentionMask])',
  useCausalMask: 'call attend({ query, value, useCausalMask: true }) within call() of a class that extends et.Layer',
  returnAttentionScores: 'call attend({ query, value }) within call() of a class that extends et.Layer',
  mask: 'leave it out, as masks come from embedding({ maskZero: true }) and masking()',
}));

/** Throws EtudeError "value" for arguments after the inputs. */
export function refuseMore(others: readonly unknown[], where: string): void {
  for (const other of others) {
    if (other === undefined || other === null) continue;
    const names = typeof other === 'object' && !Array.isArray(other) ? Object.keys(other) : undefined;
    if (names?.length === 0) continue;
    fail('value', where, `${describe(other)} after the inputs - expected the inputs alone - ${instead.get(names?.[0] ?? '') ?? 'remove it'}.`);
  }
}

interface Applied {
  apply(...given: unknown[]): unknown;
  applyAll(...given: unknown[]): unknown;
}
/** Lets the layers of the module refuse them, too. */
export function checkApplied(prototype: Applied): void {
  for (const name of ['apply', 'applyAll'] as const) {
    const method = prototype[name];
    prototype[name] = function (inputs, ...others) {
      refuseMore(others, name);
      return method.call(this, inputs);
    };
  }
}
