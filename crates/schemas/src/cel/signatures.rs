//! The functions expressions can call. Each line of the table is one function; each signature is
//! `[target.](arguments)result`, with the letters A and B for any type.

use std::{collections::HashMap, sync::LazyLock};

use super::{authorization, types::Type};

#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) is_member: bool,
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
}

/// The signatures of a function, in the order they are tried; `None` when there is no such function.
pub(crate) fn signatures(function: &str) -> Option<&'static [Signature]> {
    static ALL: LazyLock<HashMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
        let mut all: HashMap<&'static str, Vec<Signature>> = HashMap::new();
        for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let Some((name, rest)) = line.split_once(' ') else {
                continue;
            };
            let signatures = all.entry(name).or_default();
            signatures.extend(rest.split_ascii_whitespace().filter_map(signature));
        }
        all
    });
    ALL.get(function).map(Vec::as_slice)
}

fn signature(text: &str) -> Option<Signature> {
    let open = text
        .find('(')
        .filter(|open| *open == 0 || text.as_bytes()[open - 1] == b'.')?;
    let is_member = open > 0;
    let mut params: Vec<Type> = if is_member {
        vec![named(&text[..open - 1])?]
    } else {
        Vec::new()
    };
    let close = open + text[open..].find(')')?;
    let arguments = &text[open + 1..close];
    for argument in arguments.split(',').filter(|argument| !argument.is_empty()) {
        params.push(named(argument)?);
    }
    Some(Signature {
        is_member,
        params,
        result: named(&text[close + 1..])?,
    })
}

/// A type by its short name: `[A]` a list, `{A:B}` a map, `?A` an optional.
fn named(text: &str) -> Option<Type> {
    if let Some(item) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return named(item).map(Type::list);
    }
    if let Some((key, value)) = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .and_then(|rest| rest.split_once(':'))
    {
        return Some(Type::map(named(key)?, named(value)?));
    }
    if let Some(inner) = text.strip_prefix('?') {
        return named(inner).map(Type::optional);
    }
    Some(match text {
        "A" => Type::Param(0),
        "B" => Type::Param(1),
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::UInt,
        "double" => Type::Double,
        "string" => Type::Text,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "time" => Type::Timestamp,
        "type" => Type::Meta(Type::Param(0).into()),
        "Quantity" => Type::Opaque("kubernetes.Quantity"),
        "URL" => Type::Opaque("kubernetes.URL"),
        "IP" => Type::Opaque("net.IP"),
        "CIDR" => Type::Opaque("net.CIDR"),
        "Semver" => Type::Opaque("kubernetes.Semver"),
        "Format" => Type::Opaque("kubernetes.NamedFormat"),
        "Authorizer" => authorization::AUTHORIZER,
        "PathCheck" => authorization::PATH_CHECK,
        "GroupCheck" => authorization::GROUP_CHECK,
        "ResourceCheck" => authorization::RESOURCE_CHECK,
        "Decision" => authorization::DECISION,
        _ => return None,
    })
}

const TABLE: &str = r"
_?_:_ (bool,A,A)A
_&&_ (bool,bool)bool
_||_ (bool,bool)bool
!_ (bool)bool
@not_strictly_false (bool)bool
_==_ (A,A)bool
_!=_ (A,A)bool
_+_ (bytes,bytes)bytes (double,double)double (duration,duration)duration (duration,time)time (time,duration)time (int,int)int ([A],[A])[A] (string,string)string (uint,uint)uint
_-_ (double,double)double (duration,duration)duration (int,int)int (time,duration)time (time,time)duration (uint,uint)uint
_*_ (double,double)double (int,int)int (uint,uint)uint
_/_ (double,double)double (int,int)int (uint,uint)uint
_%_ (int,int)int (uint,uint)uint
-_ (double)double (int)int
_<_ (bool,bool)bool (int,int)bool (int,double)bool (int,uint)bool (uint,uint)bool (uint,double)bool (uint,int)bool (double,double)bool (double,int)bool (double,uint)bool (string,string)bool (bytes,bytes)bool (time,time)bool (duration,duration)bool
_<=_ (bool,bool)bool (int,int)bool (int,double)bool (int,uint)bool (uint,uint)bool (uint,double)bool (uint,int)bool (double,double)bool (double,int)bool (double,uint)bool (string,string)bool (bytes,bytes)bool (time,time)bool (duration,duration)bool
_>_ (bool,bool)bool (int,int)bool (int,double)bool (int,uint)bool (uint,uint)bool (uint,double)bool (uint,int)bool (double,double)bool (double,int)bool (double,uint)bool (string,string)bool (bytes,bytes)bool (time,time)bool (duration,duration)bool
_>=_ (bool,bool)bool (int,int)bool (int,double)bool (int,uint)bool (uint,uint)bool (uint,double)bool (uint,int)bool (double,double)bool (double,int)bool (double,uint)bool (string,string)bool (bytes,bytes)bool (time,time)bool (duration,duration)bool
_[_] ([A],int)A ({A:B},A)B (?[A],int)?A (?{A:B},A)?B
_[?_] ([A],int)?A (?[A],int)?A ({A:B},A)?B (?{A:B},A)?B
@in (A,[A])bool (A,{A:B})bool
cel.@mapInsert ({A:B},A,B){A:B}
size (bytes)int bytes.()int ([A])int [A].()int ({A:B})int {A:B}.()int (string)int string.()int
type (A)type
bool (bool)bool (string)bool
bytes (bytes)bytes (string)bytes
double (double)double (int)double (string)double (uint)double
duration (duration)duration (int)duration (string)duration
dyn (A)dyn
int (int)int (double)int (duration)int (string)int (time)int (uint)int
string (string)string (bool)string (bytes)string (double)string (duration)string (int)string (time)string (uint)string (IP)string (CIDR)string
timestamp (time)time (int)time (string)time
uint (uint)uint (double)uint (int)uint (string)uint
contains string.(string)bool
endsWith string.(string)bool
startsWith string.(string)bool
matches (string,string)bool string.(string)bool
getFullYear time.()int time.(string)int
getMonth time.()int time.(string)int
getDayOfYear time.()int time.(string)int
getDate time.()int time.(string)int
getDayOfMonth time.()int time.(string)int
getDayOfWeek time.()int time.(string)int
getHours time.()int time.(string)int duration.()int
getMinutes time.()int time.(string)int duration.()int
getSeconds time.()int time.(string)int duration.()int
getMilliseconds time.()int time.(string)int duration.()int
optional.of (A)?A
optional.ofNonZeroValue (A)?A
optional.none ()?A
value ?A.()A
hasValue ?A.()bool
or ?A.(?A)?A
orValue ?A.(A)A
optional.unwrap ([?A])[A]
unwrapOpt [?A].()[A]
first [A].()?A
last [A].()?A
charAt string.(int)string
indexOf string.(string)int string.(string,int)int [A].(A)int
lastIndexOf string.(string)int string.(string,int)int [A].(A)int
lowerAscii string.()string
upperAscii string.()string
replace string.(string,string)string string.(string,string,int)string
split string.(string)[string] string.(string,int)[string]
substring string.(int)string string.(int,int)string
trim string.()string
format string.([dyn])string
strings.quote (string)string
join [string].()string [string].(string)string
isSorted [int].()bool [uint].()bool [double].()bool [bool].()bool [duration].()bool [time].()bool [string].()bool [bytes].()bool
sum [int].()int [uint].()uint [double].()double [duration].()duration
min [int].()int [uint].()uint [double].()double [bool].()bool [duration].()duration [time].()time [string].()string [bytes].()bytes
max [int].()int [uint].()uint [double].()double [bool].()bool [duration].()duration [time].()time [string].()string [bytes].()bytes
sets.contains ([A],[A])bool
sets.equivalent ([A],[A])bool
sets.intersects ([A],[A])bool
find string.(string)string
findAll string.(string)[string] string.(string,int)[string]
url (string)URL
isURL (string)bool
getScheme URL.()string
getHost URL.()string
getHostname URL.()string
getPort URL.()string
getEscapedPath URL.()string
getQuery URL.(){string:[string]}
quantity (string)Quantity
isQuantity (string)bool
sign (Quantity)int
isGreaterThan Quantity.(Quantity)bool Semver.(Semver)bool
isLessThan Quantity.(Quantity)bool Semver.(Semver)bool
compareTo Quantity.(Quantity)int Semver.(Semver)int
asApproximateFloat Quantity.()double
asInteger Quantity.()int
isInteger Quantity.()bool
add Quantity.(Quantity)Quantity Quantity.(int)Quantity
sub Quantity.(Quantity)Quantity Quantity.(int)Quantity
ip (string)IP CIDR.()IP
isIP (string)bool
ip.isCanonical (string)bool
family IP.()int
isUnspecified IP.()bool
isLoopback IP.()bool
isLinkLocalMulticast IP.()bool
isLinkLocalUnicast IP.()bool
isGlobalUnicast IP.()bool
cidr (string)CIDR
isCIDR (string)bool
containsIP CIDR.(string)bool CIDR.(IP)bool
containsCIDR CIDR.(string)bool CIDR.(CIDR)bool
prefixLength CIDR.()int
masked CIDR.()CIDR
semver (string)Semver (string,bool)Semver
isSemver (string)bool (string,bool)bool
major Semver.()int
minor Semver.()int
patch Semver.()int
format.named (string)?Format
validate Format.(string)?[string]
format.dns1123Label ()Format
format.dns1123Subdomain ()Format
format.dns1035Label ()Format
format.qualifiedName ()Format
format.dns1123LabelPrefix ()Format
format.dns1123SubdomainPrefix ()Format
format.dns1035LabelPrefix ()Format
format.labelValue ()Format
format.uri ()Format
format.uuid ()Format
format.byte ()Format
format.date ()Format
format.datetime ()Format
path Authorizer.(string)PathCheck
group Authorizer.(string)GroupCheck
serviceAccount Authorizer.(string,string)Authorizer
resource GroupCheck.(string)ResourceCheck
subresource ResourceCheck.(string)ResourceCheck
namespace ResourceCheck.(string)ResourceCheck
name ResourceCheck.(string)ResourceCheck
fieldSelector ResourceCheck.(string)ResourceCheck
labelSelector ResourceCheck.(string)ResourceCheck
check PathCheck.(string)Decision ResourceCheck.(string)Decision
allowed Decision.()bool
reason Decision.()string
errored Decision.()bool
error Decision.()string
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        for line in TABLE.lines().filter(|line| !line.is_empty()) {
            let mut words = line.split_ascii_whitespace();
            let name = words.next().unwrap();
            assert_eq!(signatures(name).map(<[_]>::len), Some(words.count()), "in {line}");
        }
    }
}
