// etude-ml/lite, a second import of the package for pages that want the smallest download: the same link, without the code
// that these classes do not need. A call of anything else throws an Error that names the import that has it.
import { callsOf } from './entry_points.mjs';
import { parts } from './parts.mjs';

/** The classes of lite by their families. web/ derives the types from this list. */
export const classes = {
  layers: [
    'Dense', 'ActivationLayer', 'Embedding', 'Rescaling', 'ReLU', 'LeakyReLU', 'ELU', 'Softmax', 'Conv1D', 'Conv2D', 'AveragePooling1D', 'AveragePooling2D', 'MaxPooling1D', 'MaxPooling2D',
    'GlobalAveragePooling1D', 'GlobalAveragePooling2D', 'GlobalMaxPooling1D', 'GlobalMaxPooling2D', 'Flatten', 'Reshape', 'Dropout', 'BatchNormalization', 'LSTM', 'Add', 'Concatenate',
  ],
  losses: ['MeanSquaredError', 'MeanAbsoluteError', 'Huber', 'BinaryCrossentropy', 'CategoricalCrossentropy', 'SparseCategoricalCrossentropy'],
  metrics: [
    'Accuracy', 'BinaryAccuracy', 'CategoricalAccuracy', 'SparseCategoricalAccuracy', 'MeanSquaredError', 'MeanAbsoluteError', 'RootMeanSquaredError', 'BinaryCrossentropy', 'CategoricalCrossentropy', 'SparseCategoricalCrossentropy', 'Mean',
  ],
  optimizers: ['SGD', 'RMSprop', 'Adam'],
  schedules: ['ExponentialDecay'],
  initializers: ['Zeros', 'Ones', 'Constant', 'RandomUniform', 'RandomNormal', 'GlorotUniform', 'GlorotNormal', 'HeUniform', 'HeNormal', 'Orthogonal'],
  regularizers: ['L1', 'L2', 'L1L2'],
  constraints: [],
  callbacks: ['EarlyStopping'],
};

const savingWeights = ['model.save_weights', 'model.load_weights', 'model.load_weights_task'];
/** The calls of lite. */
const calls = [
  ...savingWeights,
  ...['name', 'shape', 'dtype', 'value'].map((member) => `Variable.${member}`),
  ...['name', 'shape', 'dtype'].map((member) => `SymbolicTensor.${member}`),
  ...['name', 'class_name', 'built', 'output_shape', 'input', 'output', 'inputs', 'outputs', 'output_keys', 'trainable', 'supports_masking', 'variables', 'trainable_variables', 'non_trainable_variables', 'apply', 'apply_all', 'count_params', 'get_weights', 'set_weights']
    .map((member) => `Layer.${member}`),
  'Recurrent.reset_state', 'Loss.name', 'Metric.name', 'Optimizer.name', 'Optimizer.iterations', 'Optimizer.variables', 'Optimizer.learning_rate', 'Callback.params', 'EarlyStopping.stopped_epoch', 'EarlyStopping.best',
  'input', 'classes', 'make', 'layers.input_layer', 'layer.apply_all', 'set_host_files', 'set_random_seed', 'set_yield_every', 'set_num_threads', 'memory',
  'compile', 'fit', 'evaluate', 'predict', 'train_on_batch', 'test_on_batch', 'predict_on_batch', 'get_layer', 'build', 'summary',
  ...['sequential', 'functional', 'add', 'pop', 'input_names', 'output_names', 'prediction_keys', 'compiled', 'optimizer', 'layers', 'metrics_names', 'metrics', 'reset_metrics', 'stop_training', 'set_stop_training', 'stop_evaluating', 'set_stop_evaluating', 'stop_predicting', 'set_stop_predicting']
    .map((member) => `model.${member}`),
];
for (const call of calls) if (![...callsOf.values()].flat().includes(call)) throw new Error(`the call "${call}" - expected one that bindings/ registers - correct bindings/lite.mjs.`);

/** The part of lite that is not delivered. */
export const absent = 'absent';

export const liteParts = {
  [absent]: {
    within: 'saving',
    blocks: ['custom', 'data', 'more_ops', 'operational_metrics', 'ops', 'predict', 'text', 'utils'],
    bindings: [],
    classes: [],
    kept: { classes: Object.values(classes).flat(), calls },
    functions: [
      ...Object.values(parts).flatMap(({ functions }) => functions).filter((name) => name !== 'replace_pattern'),
      // Data other than arrays.
      'of_rows', 'of_generator', 'of_sequence', 'js::lazy_column', 'js::ragged_column', 'js::sparse_column', 'js::dataset_data', 'js::generator_data', 'js::sequence_data', 'js::creator_data',
    ],
    direct: ['js::add_op', 'StepFunction::run_eagerly', 'Optimizer::scale_loss_dynamically', 'difference'],
    ops: ['Sin', 'Cos', 'Arctan', 'Cumsum', 'ArgSort', 'Attention', 'AttentionGradient', 'AllReduce', 'AwaitSums'],
    // Convolutions with one channel per group.
    patterns: [/^_ZN5etude3cpu\d+wasm\w*?\d+convolve_depthwise/],
  },
  saving: { bindings: [], calls: savingWeights, classes: [], functions: ['replace_pattern'] },
};
