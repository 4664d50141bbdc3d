//! The rules of a kind around a write, whether they come from a strategy or from a schema.
//!
//! A kind that is stored in another form than it is served in has its rules on the stored form.

use kinds::object_meta;
use manifests::field::{FieldError, Path};
use serde_json::Value;

use crate::{
    admission::expressions,
    certificate_requests,
    custom::CustomVersion,
    error::ApiError,
    kind::{BuiltIn, Definition, Kind},
    writes::update::Part,
};

impl Kind {
    /// Fills in what the user left out.
    pub(crate) fn default(&self, object: &mut Value) {
        match &self.definition {
            Definition::BuiltIn(built_in) => built_in.on_stored(object, built_in.strategy.default),
            Definition::Custom(custom) => custom.default(object),
        }
    }

    /// Brings an object the server has changed back into the form it is stored and shown in.
    pub(crate) fn complete(&self, object: &mut Value) {
        if let Definition::BuiltIn(built_in) = &self.definition {
            // The object was decoded before; only what the server put in can be out of form.
            let _ = kinds::decode::normalize(built_in.shape, object);
            self.default(object);
            object["kind"] = self.kind.as_ref().into();
            object["apiVersion"] = self.api_version.as_ref().into();
        }
    }

    /// The same for a new object, which needs it only where its kind does not promise to stay in form.
    pub(crate) fn complete_new(&self, object: &mut Value) {
        match &self.definition {
            Definition::BuiltIn(built_in) if built_in.strategy.stays_in_form => {
                debug_assert_eq!(*object, self.completed(object.clone()), "it was left out of form");
            }
            _ => self.complete(object),
        }
    }

    fn completed(&self, mut object: Value) -> Value {
        self.complete(&mut object);
        object
    }

    /// Drops what users may not set on creation and sets what the server owns.
    pub(crate) fn prepare_for_create(&self, object: &mut Value) {
        match &self.definition {
            Definition::BuiltIn(built_in) => built_in.on_stored(object, built_in.strategy.prepare_for_create),
            Definition::Custom(custom) => custom.prepare_for_create(object),
        }
    }

    /// Carries over from the old object what the endpoint may not change.
    pub(crate) fn prepare_for_update(&self, part: Part, new: &mut Value, old: &Value) {
        match (&self.definition, part) {
            (_, Part::Special(special)) => (special.prepare)(new, old),
            (Definition::BuiltIn(built_in), part) => {
                let strategy = built_in.strategy;
                let prepare = if matches!(part, Part::Status) {
                    strategy.prepare_for_status_update
                } else {
                    strategy.prepare_for_update
                };
                let old = built_in.stored(old);
                built_in.on_stored(new, |new| prepare(new, &old));
            }
            (Definition::Custom(_), Part::Status) => CustomVersion::prepare_for_status_update(new, old),
            (Definition::Custom(custom), Part::Main | Part::Scale) => custom.prepare_for_update(new, old),
        }
    }

    /// What is wrong with a new object, and what the user should be warned of.
    pub(crate) fn validate_create(&self, object: &Value) -> (Vec<FieldError>, Vec<String>) {
        let mut errors = Vec::new();
        let warnings = match &self.definition {
            Definition::BuiltIn(built_in) => {
                let object = built_in.stored(object);
                if built_in.metadata_is_ours() {
                    object_meta::validate(
                        kinds::read::get(&object, "metadata"),
                        self.namespaced,
                        built_in.strategy.name_syntax,
                        &Path::new("metadata"),
                        &mut errors,
                    );
                }
                (built_in.strategy.validate)(&object, &mut errors);
                certificate_requests::validate(self, &object, &mut errors);
                expressions::validate(&self.group, &self.kind, &object, None, &mut errors);
                if errors.is_empty() {
                    // Of its metadata only this was not checked yet.
                    object_meta::validate_names(
                        kinds::read::get(&object, "metadata"),
                        kinds::names::path_segment,
                        &Path::new("metadata"),
                        &mut errors,
                    );
                }
                (built_in.strategy.warnings_on_create)(&object)
            }
            Definition::Custom(custom) => {
                custom.validate(object, &mut errors);
                Vec::new()
            }
        };
        (errors, warnings)
    }

    /// What is wrong with a changed object, and what the user should be warned of.
    pub(crate) fn validate_update(
        &self,
        part: Part,
        new: &Value,
        old: &Value,
    ) -> (Vec<FieldError>, Vec<String>) {
        let mut errors = Vec::new();
        let warnings = match (&self.definition, part) {
            (_, Part::Special(special)) => {
                (special.validate)(new, old, &mut errors);
                Vec::new()
            }
            (Definition::BuiltIn(built_in), part) => {
                let (new, old) = (built_in.stored(new), built_in.stored(old));
                self.validate_metadata(&new, &mut errors);
                self.validate_metadata_update(&new, &old, &mut errors);
                if built_in.metadata_is_ours() {
                    object_meta::validate_update(
                        kinds::read::get(&new, "metadata"),
                        kinds::read::get(&old, "metadata"),
                        &Path::new("metadata"),
                        &mut errors,
                    );
                }
                if matches!(part, Part::Status) {
                    (built_in.strategy.validate_status_update)(&new, &old, &mut errors);
                    Vec::new()
                } else {
                    (built_in.strategy.validate_update)(&new, &old, &mut errors);
                    expressions::validate(&self.group, &self.kind, &new, Some(&old), &mut errors);
                    (built_in.strategy.warnings_on_update)(&new, &old)
                }
            }
            (Definition::Custom(custom), part) => {
                custom.validate_update(new, old, matches!(part, Part::Status), &mut errors)
            }
        };
        (errors, warnings)
    }

    /// The refusal of an object that breaks the rules. It names the group they come from, which is
    /// the one objects are stored under: both groups of events have the rules of the core group.
    pub(crate) fn invalid(&self, object: &Value, errors: &[FieldError]) -> ApiError {
        let group = self.collection.group();
        ApiError::invalid(group, &self.kind, crate::object::name(object), errors)
    }
}

impl Kind {
    /// What holds for the metadata of every object, whatever its kind.
    fn validate_metadata(&self, object: &Value, errors: &mut Vec<FieldError>) {
        object_meta::validate_any(
            kinds::read::get(object, "metadata"),
            self.namespaced,
            kinds::names::path_segment,
            &Path::new("metadata"),
            errors,
        );
    }

    #[expect(clippy::unused_self, reason = "reads as its neighbours")]
    fn validate_metadata_update(&self, new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
        object_meta::validate_any_update(
            kinds::read::get(new, "metadata"),
            kinds::read::get(old, "metadata"),
            &Path::new("metadata"),
            errors,
        );
    }
}

impl BuiltIn {
    /// Pods and workloads check their metadata themselves; every other strategy leaves it to us.
    fn metadata_is_ours(&self) -> bool {
        kinds::objects::strategy(self.resource.group, self.resource.kind).is_some()
    }

    /// The object as it is stored, which for nearly every kind is as it stands.
    fn stored<'v>(&self, object: &'v Value) -> std::borrow::Cow<'v, Value> {
        if self.conversion.is_none() {
            return std::borrow::Cow::Borrowed(object);
        }
        let mut object = object.clone();
        self.store(&mut object);
        std::borrow::Cow::Owned(object)
    }

    /// Changes the object in its stored form.
    fn on_stored(&self, object: &mut Value, change: impl FnOnce(&mut Value)) {
        self.store(object);
        change(object);
        self.show(object);
    }
}
