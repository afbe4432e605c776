//! What an agent offers when its session is open: models and modes, in the forms that the protocol has for them.

use serde::Deserialize;
use serde_json::{Value, json};

/// The result of `session/new`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Opened {
    pub(super) session_id: String,
    modes: Option<Modes>,
    models: Option<Models>,
    config_options: Option<Vec<ConfigOption>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Modes {
    current_mode_id: String,
    available_modes: Vec<Mode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Mode {
    id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Models {
    current_model_id: String,
    available_models: Vec<ModelInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelInfo {
    model_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ConfigOption {
    id: String,
    category: String,
    current_value: Value,
    options: Vec<Offered>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Offered {
    value: Value,
}

/// A request that chooses something: its method, and its parameters without the session.
pub(super) type Choice = (&'static str, Value);

impl Opened {
    fn option(&self, category: &str) -> Option<&ConfigOption> {
        let options = self.config_options.as_deref().unwrap_or_default();
        options.iter().find(|option| option.category == category)
    }

    pub(super) fn modes(&self) -> Vec<String> {
        let modes = self.modes.iter().flat_map(|modes| &modes.available_modes);
        modes.map(|mode| mode.id.clone()).collect()
    }

    /// The request that chooses a mode; `None` where the session is in it.
    pub(super) fn choose_mode(&self, mode: &str) -> Option<Choice> {
        let is_other = self.modes.as_ref().is_some_and(|modes| modes.current_mode_id != mode);
        is_other.then(|| ("session/set_mode", json!({ "modeId": mode })))
    }

    /// The model of the session, where the agent says it.
    pub(super) fn model(&self) -> Option<&str> {
        let option = self.option("model").and_then(|option| option.current_value.as_str());
        let models = self.models.as_ref().map(|models| models.current_model_id.as_str());
        option.or(models).filter(|model| !model.is_empty())
    }

    /// Whether the agent lists this model.
    pub(super) fn offers(&self, model: &str) -> bool {
        let options = self.option("model").map(|option| option.options.as_slice());
        let models = self.models.as_ref().map(|models| models.available_models.as_slice());
        options.unwrap_or_default().iter().any(|offered| offered.value == model)
            || models.unwrap_or_default().iter().any(|offered| offered.model_id == model)
    }

    /// The request that chooses a model; `None` where the session has it, or where the agent offers no choice.
    pub(super) fn choose_model(&self, model: &str) -> Option<Choice> {
        if self.model() == Some(model) {
            return None;
        }
        match (self.option("model"), &self.models) {
            (Some(option), _) => {
                let params = json!({ "configId": option.id, "value": model });
                Some(("session/set_config_option", params))
            }
            (None, Some(_)) => Some(("session/set_model", json!({ "modelId": model }))),
            (None, None) => None,
        }
    }
}
