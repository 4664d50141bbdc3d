//! Any bytes are an object of a built-in kind, in its normal form, or an error.

use kinds::{decode::normalize, protobuf, resources::RESOURCES, types};

use crate::cost;

pub(super) fn run(input: &[u8]) {
    if let Ok((api_version, kind, value)) =
        cost::within(input.len(), 20_000, || protobuf::decode_object(input))
        && let Some(ty) = kinds::resources::type_of(&api_version, &kind)
    {
        check(ty, value);
    }
    // The same bytes as a message of each kind in turn: the length stands in for a choice.
    if let Ok(envelope) = protobuf::envelope(input) {
        let resource = &RESOURCES[input.len() % RESOURCES.len()];
        let ty = types::by_name(resource.type_name).unwrap();
        if let Ok(value) = protobuf::decode(ty, envelope.raw) {
            check(ty, value);
        }
    }
}

fn check(ty: types::TypeRef, decoded: serde_json::Value) {
    let mut normal = decoded.clone();
    if let Ok(unknown) = normalize(ty, &mut normal) {
        assert!(unknown.is_empty(), "{unknown:?}");
        let mut again = normal.clone();
        normalize(ty, &mut again).expect("what is normal can be read");
        assert_eq!(again, normal);
    }
}
