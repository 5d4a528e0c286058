#pragma once

/// All callbacks except those that fit adds itself.
#include "etude/callbacks/backup_and_restore.hpp"
#include "etude/callbacks/csv_logger.hpp"
#include "etude/callbacks/early_stopping.hpp"
#include "etude/callbacks/lambda_callback.hpp"
#include "etude/callbacks/learning_rate_scheduler.hpp"
#include "etude/callbacks/model_checkpoint.hpp"
#include "etude/callbacks/operational_metrics.hpp"
#include "etude/callbacks/profiler.hpp"
#include "etude/callbacks/reduce_lr_on_plateau.hpp"
#include "etude/callbacks/remote_monitor.hpp"
#include "etude/callbacks/swap_ema_weights.hpp"
#include "etude/callbacks/tensorboard.hpp"
#include "etude/callbacks/terminate_on_nan.hpp"

namespace etude::callbacks {

/// The families of callbacks. To add a callback, add a line here.
using TrainingCallbacks =
    ClassList<EarlyStopping, LearningRateScheduler, ReduceLROnPlateau, SwapEMAWeights, TerminateOnNaN>;
using SavingCallbacks = ClassList<BackupAndRestore, ModelCheckpoint>;
using LoggingCallbacks = ClassList<CSVLogger, OperationalMetrics, Profiler, RemoteMonitor, TensorBoard>;

using Callbacks = Concatenated<TrainingCallbacks, SavingCallbacks, LoggingCallbacks>;

}  // namespace etude::callbacks
