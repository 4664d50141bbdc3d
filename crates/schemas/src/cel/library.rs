//! Functions of the Kubernetes and extension libraries. They live in `kube_cel`, which knows values
//! of its own; here values go over and come back.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use base64::Engine as _;
use kube_cel::{
    KubeCelExt as _,
    cel::{
        Context, ExecutionError, IdedExpr, Value as Foreign,
        common::ast::{CallExpr, Expr},
        objects::{Key as ForeignKey, Map as ForeignMap},
    },
};
use manifests::field::quoted;
use regex::Regex;

use super::{
    time,
    value::{Key, MapVal, Val},
};

/// Compiled patterns are kept; there are few in all rules, but any number in the objects.
const PATTERNS: usize = 256;

thread_local! {
    /// The functions, registered once per thread.
    static LIBRARY: Context<'static> = Context::default().with_all();
    static REGEXES: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

/// Calls a library function; a target is the first argument.
pub(crate) fn call<'a>(function: &str, args: &[Val<'a>], is_member: bool) -> Result<Val<'a>, String> {
    match (function, args) {
        ("format.named", [Val::Text(name)]) => return Ok(named_format(name)),
        ("find", [Val::Text(text), Val::Text(pattern)]) => return find(text, pattern),
        ("findAll", [Val::Text(text), Val::Text(pattern)]) => return find_all(text, pattern, -1),
        ("findAll", [Val::Text(text), Val::Text(pattern), Val::Int(limit)]) => {
            return find_all(text, pattern, *limit);
        }
        _ => {}
    }
    let foreign = args.iter().map(to_foreign).collect::<Result<Vec<_>, _>>()?;
    let answer = call_foreign(function, foreign, is_member);
    from_foreign(answer.map_err(|message| reworded(function, args, message))?)
}

/// Where the libraries word their errors differently from the real ones.
fn reworded(function: &str, args: &[Val<'_>], message: String) -> String {
    let text = |i: usize| args.get(i).map(plain).unwrap_or_default();
    match function {
        "quantity" => {
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned()
        }
        "ip" | "ip.isCanonical" => {
            let address = quoted(&text(0));
            format!(
                "IP Address {address} parse error during conversion from string: ParseAddr({address}): unable to parse IP"
            )
        }
        "containsIP" => "no such overload".to_owned(),
        "cidr" | "containsCIDR" => {
            const ERROR: &str = "network address parse error during conversion from string";
            let address = text(args.len() - 1);
            let complaint = if address.contains('/') {
                "unable to parse IP"
            } else {
                "no '/'"
            };
            format!(
                "{ERROR}: {ERROR}: netip.ParsePrefix({}): {complaint}",
                quoted(&address)
            )
        }
        "url" => {
            format!(
                "URL parse error during conversion from string: parse {}: invalid URI for request",
                quoted(&text(0))
            )
        }
        "semver" if text(0).splitn(3, '.').count() < 3 => "No Major.Minor.Patch elements found".to_owned(),
        "charAt" | "substring" => {
            let length = args.first().map_or(0, Val::size) as i64;
            let outside = |arg: &&Val<'_>| matches!(arg, Val::Int(index) if !(0..=length).contains(index));
            match args.iter().skip(1).find(outside) {
                Some(index) => format!("index out of range: {}", plain(index)),
                None => message,
            }
        }
        _ => message,
    }
}

/// `format.named('dns1123Label')` is the optional of `format.dns1123Label()`.
fn named_format<'a>(name: &str) -> Val<'a> {
    let format = call_foreign(&format!("format.{name}"), Vec::new(), false).and_then(from_foreign);
    Val::Optional(format.ok().map(Arc::new))
}

fn call_foreign(function: &str, args: Vec<Foreign>, is_member: bool) -> Result<Foreign, String> {
    LIBRARY.with(|library| {
        let mut scope = library.new_inner_scope();
        let mut idents = Vec::with_capacity(args.len());
        for (i, value) in args.into_iter().enumerate() {
            let name = format!("a{i}");
            scope.add_variable_from_value(name.clone(), value);
            idents.push(IdedExpr {
                id: 0,
                expr: Expr::Ident(name),
            });
        }
        // A qualified name is looked up with its prefix as the target.
        let (prefix, name) = function
            .rsplit_once('.')
            .map_or((None, function), |(prefix, name)| (Some(prefix), name));
        let target = match prefix {
            Some(prefix) => Some(Box::new(IdedExpr {
                id: 0,
                expr: Expr::Ident(prefix.to_owned()),
            })),
            None if is_member => Some(Box::new(idents.remove(0))),
            None => None,
        };
        let call = CallExpr {
            func_name: name.to_owned(),
            target,
            args: idents,
        };
        let expr = IdedExpr {
            id: 0,
            expr: Expr::Call(call),
        };
        Foreign::resolve(&expr, &scope).map_err(|error| message(&error))
    })
}

fn message(error: &ExecutionError) -> String {
    match error {
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::IndexOutOfBounds(value) => format!("index out of range: {value:?}"),
        _ => "no such overload".to_owned(),
    }
}

/// Whether the pattern is found in the text.
pub(crate) fn matches(text: &str, pattern: &str) -> Result<bool, String> {
    with_regex(pattern, |regex| regex.is_match(text))
}

/// The first match, or nothing.
fn find<'a>(text: &str, pattern: &str) -> Result<Val<'a>, String> {
    with_regex(pattern, |regex| {
        Val::text(regex.find(text).map_or("", |found| found.as_str()))
    })
}

/// All matches, or as many as are asked for.
fn find_all<'a>(text: &str, pattern: &str, limit: i64) -> Result<Val<'a>, String> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    with_regex(pattern, |regex| {
        Val::list(
            regex
                .find_iter(text)
                .take(limit)
                .map(|found| Val::text(found.as_str()))
                .collect(),
        )
    })
}

fn with_regex<T>(pattern: &str, apply: impl FnOnce(&Regex) -> T) -> Result<T, String> {
    REGEXES.with_borrow_mut(|regexes| {
        if let Some(regex) = regexes.get(pattern) {
            return Ok(apply(regex));
        }
        let regex = crate::structural::compile_pattern(pattern)?;
        let answer = apply(&regex);
        if regexes.len() >= PATTERNS {
            regexes.clear();
        }
        regexes.insert(pattern.to_owned(), regex);
        Ok(answer)
    })
}

/// A scalar as text.
pub(crate) fn plain(value: &Val<'_>) -> String {
    match value {
        Val::Bool(flag) => flag.to_string(),
        Val::Int(integer) => integer.to_string(),
        Val::UInt(integer) => integer.to_string(),
        Val::Double(double) => crate::golang::float(*double),
        Val::Text(text) => text.to_string(),
        _ => String::new(),
    }
}

pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::URL_SAFE.decode(text).ok()
}

fn to_foreign(value: &Val<'_>) -> Result<Foreign, String> {
    Ok(match value {
        Val::Null => Foreign::Null,
        Val::Bool(flag) => Foreign::Bool(*flag),
        Val::Int(integer) => Foreign::Int(*integer),
        Val::UInt(integer) => Foreign::UInt(*integer),
        Val::Double(double) => Foreign::Float(*double),
        Val::Text(text) => Foreign::String(Arc::new(text.to_string())),
        Val::Bytes(bytes) => Foreign::Bytes(Arc::new(bytes.to_vec())),
        Val::Duration(nanos) => call_foreign("duration", vec![Foreign::from(format!("{nanos}ns"))], false)?,
        Val::Timestamp(instant) => {
            call_foreign("timestamp", vec![Foreign::from(instant.to_string())], false)?
        }
        Val::List(list) => Foreign::List(Arc::new(
            list.iter()
                .map(|item| to_foreign(&item))
                .collect::<Result<_, _>>()?,
        )),
        Val::Map(map) => {
            let mut entries = HashMap::new();
            for key in map.keys() {
                if let Some(key) = key.key()
                    && let Some(value) = map.get(&key)
                {
                    entries.insert(to_foreign_key(&key), to_foreign(&value)?);
                }
            }
            Foreign::Map(ForeignMap {
                map: Arc::new(entries),
            })
        }
        Val::Foreign(foreign) => foreign.clone(),
        Val::Type(name) => Foreign::String(Arc::new(name.to_string())),
        Val::Optional(_) | Val::Inquiry(_) => return Err("no such overload".to_owned()),
    })
}

fn to_foreign_key(key: &Key) -> ForeignKey {
    match key {
        Key::Bool(flag) => ForeignKey::Bool(*flag),
        Key::Int(integer) => ForeignKey::Int(*integer),
        Key::UInt(integer) => ForeignKey::Uint(*integer),
        Key::Text(text) => ForeignKey::String(Arc::new(text.to_string())),
    }
}

fn from_foreign<'a>(value: Foreign) -> Result<Val<'a>, String> {
    Ok(match value {
        Foreign::Null => Val::Null,
        Foreign::Bool(flag) => Val::Bool(flag),
        Foreign::Int(integer) => Val::Int(integer),
        Foreign::UInt(integer) => Val::UInt(integer),
        Foreign::Float(double) => Val::Double(double),
        Foreign::String(text) => Val::text(text.as_str()),
        Foreign::Bytes(bytes) => Val::Bytes(Arc::from(bytes.as_slice())),
        Foreign::List(items) => Val::list(
            items
                .iter()
                .map(|item| from_foreign(item.clone()))
                .collect::<Result<_, _>>()?,
        ),
        Foreign::Map(map) => {
            let entries = map
                .map
                .iter()
                .map(|(key, value)| Ok((from_foreign_key(key), from_foreign(value.clone())?)));
            Val::Map(MapVal::Made(Arc::new(entries.collect::<Result<_, String>>()?)))
        }
        Foreign::Duration(duration) => Val::Duration(duration.num_nanoseconds().unwrap_or(i64::MAX)),
        Foreign::Timestamp(instant) => time::Instant::parse(&instant.to_rfc3339())
            .map(Val::Timestamp)
            .ok_or("timestamp overflow")?,
        Foreign::Opaque(_) => match <&kube_cel::cel::objects::OptionalValue>::try_from(&value) {
            Ok(optional) => match optional.value() {
                Some(inner) => Val::Optional(Some(Arc::new(from_foreign(inner.clone())?))),
                None => Val::Optional(None),
            },
            Err(_) => Val::Foreign(value),
        },
        Foreign::Function(..) => return Err("no such overload".to_owned()),
    })
}

fn from_foreign_key(key: &ForeignKey) -> Key {
    match key {
        ForeignKey::Bool(flag) => Key::Bool(*flag),
        ForeignKey::Int(integer) => Key::Int(*integer),
        ForeignKey::Uint(integer) => Key::UInt(*integer),
        ForeignKey::String(text) => Key::Text(Arc::from(text.as_str())),
    }
}
