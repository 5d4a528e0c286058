#include "etude/losses/losses.hpp"

#include "etude/base/catalogue.hpp"

namespace etude::losses {

LossPtr get(const Choice<Loss>& choice) {
  using Make = LossPtr (*)();
  constexpr Make mse = [] { return mean_squared_error(); }, mae = [] { return mean_absolute_error(); },
                 mape = [] { return mean_absolute_percentage_error(); },
                 msle = [] { return mean_squared_logarithmic_error(); }, bce = [] { return binary_crossentropy(); },
                 kld = [] { return kl_divergence(); }, logcosh = [] { return log_cosh(); },
                 huber_loss = [] { return huber(); };
  static const Catalogue<Make> catalogue(
      "loss", {
                  {"mean_squared_error", mse},
                  {"mse", mse},
                  {"mean_absolute_error", mae},
                  {"mae", mae},
                  {"mean_absolute_percentage_error", mape},
                  {"mape", mape},
                  {"mean_squared_logarithmic_error", msle},
                  {"msle", msle},
                  {"huber", huber_loss},
                  {"huber_loss", huber_loss},
                  {"log_cosh", logcosh},
                  {"cosine_similarity", [] { return cosine_similarity(); }},
                  {"hinge", [] { return hinge(); }},
                  {"squared_hinge", [] { return squared_hinge(); }},
                  {"categorical_hinge", [] { return categorical_hinge(); }},
                  {"kl_divergence", kld},
                  {"kullback_leibler_divergence", kld},
                  {"kld", kld},
                  {"poisson", [] { return poisson(); }},
                  {"binary_crossentropy", bce},
                  {"bce", bce},
                  {"categorical_crossentropy", [] { return categorical_crossentropy(); }},
                  {"sparse_categorical_crossentropy", [] { return sparse_categorical_crossentropy(); }},
                  {"binary_focal_crossentropy", [] { return binary_focal_crossentropy(); }},
                  {"categorical_focal_crossentropy", [] { return categorical_focal_crossentropy(); }},
                  {"categorical_generalized_cross_entropy", [] { return categorical_generalized_cross_entropy(); }},
                  {"dice", [] { return dice(); }},
                  {"tversky", [] { return tversky(); }},
              });
  return choice.object() ? choice.object() : catalogue.find(choice.name())();
}

}  // namespace etude::losses
