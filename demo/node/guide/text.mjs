// Texts: a layer learns a vocabulary and converts texts to indices, which a model reads. Hashes need no vocabulary.
import * as et from 'etude-ml';
import { report } from './samples.mjs';

const texts = ['A wonderful film!', 'I loved it.', 'What a great story.', 'A terrible film.', 'I hated it!', 'What a boring story.'];
const labels = [[1], [1], [1], [0], [0], [0]];

const vectorize = et.layers.textVectorization({ maxTokens: 1000, outputSequenceLength: 6 });
await vectorize.adapt(texts);

et.setRandomSeed(8);
const model = et.sequential([
  et.layers.embedding({ inputDim: vectorize.vocabularySize(), outputDim: 8 }), et.layers.globalAveragePooling1d(),
  et.layers.dense({ units: 1, activation: 'sigmoid' }),
]);
model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.05 }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
report('texts', await model.fit(vectorize.call(texts), labels, { epochs: 30, verbose: 2 }));

const [loved, boring] = (await model.predict(vectorize.call(['I loved the story', 'boring']), { verbose: 0 })).data;
console.log(`predictions: loved=${loved.toFixed(3)} boring=${boring.toFixed(3)}`);

// The bins of pairs are the features of a linear model.
const cross = et.layers.hashedCrossing({ numBins: 64, outputMode: 'one_hot' });
const pairs = cross.call([['red', 'red', 'blue', 'blue'], ['small', 'large', 'small', 'large']]);
const linear = et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'zeros' })]);
linear.compile({ optimizer: et.optimizers.sgd({ learningRate: 0.5 }), loss: 'mse' });
report('pairs', await linear.fit(pairs, [[1], [0], [0], [1]], { epochs: 30, verbose: 2 }));
