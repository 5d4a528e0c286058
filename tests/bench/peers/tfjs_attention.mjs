/** TensorFlow.js has no such layer: self-attention with Keras's weights, written in its ops. */
export function makeMultiHeadAttention(tf, { layers: { Layer }, initializers }) {
  return class MultiHeadAttention extends Layer {
    static className = 'MultiHeadAttention';

    constructor(heads, size, causal = false) {
      super({});
      Object.assign(this, { heads, size, causal });
    }

    build([, , features]) {
      const { heads, size } = this;
      const pair = (name, shape, bias) => [this.addWeight(`${name}_kernel`, shape, 'float32', initializers.zeros()), this.addWeight(`${name}_bias`, bias, 'float32', initializers.zeros())];
      this.projections = ['query', 'key', 'value'].map((name) => pair(name, [features, heads, size], [heads, size]));
      this.join = pair('output', [heads, size, features], [features]);
      this.built = true;
    }

    call(inputs) {
      return tf.tidy(() => {
        const x = Array.isArray(inputs) ? inputs[0] : inputs;
        const [batch, steps, features] = x.shape;
        const width = this.heads * this.size;
        const linear = (rows, [kernel, bias], inputs, outputs) =>
          tf.add(tf.matMul(rows, tf.reshape(kernel.read(), [inputs, outputs])), tf.reshape(bias.read(), [outputs]));
        const rows = tf.reshape(x, [batch * steps, features]);
        const [query, key, value] = this.projections.map((weights) =>
          tf.transpose(tf.reshape(linear(rows, weights, features, width), [batch, steps, this.heads, this.size]), [0, 2, 1, 3]));
        let scores = tf.matMul(tf.mul(query, 1 / Math.sqrt(this.size)), key, false, true);
        if (this.causal) scores = tf.add(scores, tf.mul(tf.sub(tf.linalg.bandPart(tf.ones([steps, steps]), -1, 0), 1), 1e9));
        scores = tf.softmax(scores);
        const joined = tf.reshape(tf.transpose(tf.matMul(scores, value), [0, 2, 1, 3]), [batch * steps, width]);
        return tf.reshape(linear(joined, this.join, width, features), [batch, steps, features]);
      });
    }
  };
}

/** Adds a learned vector to each position. */
export function makePositions(tf, { layers: { Layer }, initializers }) {
  return class Positions extends Layer {
    static className = 'Positions';

    build([, ...shape]) {
      this.vectors = this.addWeight('vectors', shape, 'float32', initializers.zeros());
      this.built = true;
    }

    call(inputs) {
      return tf.tidy(() => tf.add(Array.isArray(inputs) ? inputs[0] : inputs, this.vectors.read()));
    }
  };
}
