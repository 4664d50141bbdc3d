//! The packet filter's rules, as the kernel's nf_tables wants them.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use nix::libc;

use super::Message;

const TABLE: &str = "trainyard";
const CHAIN: &str = "incoming";
const IPV4: u8 = libc::NFPROTO_IPV4 as u8;
const SUBSYSTEM: u16 = libc::NFNL_SUBSYS_NFTABLES as u16;
/// Before the routing decision, where `mangle` used to stand.
const BEFORE_ROUTING: u32 = 0;
const PRIORITY: i32 = -150;
const FIRST: u32 = libc::NFT_REG_1 as u32;
const SECOND: u32 = libc::NFT_REG_2 as u32;

/// One step of a rule; a comparison that fails ends the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A socket of ours that poses as somebody else waits for this packet.
    ForTransparentSocket,
    ToOwnAddress,
    To(Ipv4Net),
    Protocol(u8),
    Mark(u32),
    /// Give it to the socket that listens at this address, whatever the packet's destination.
    HandTo(Ipv4Addr, u16),
    Accept,
}

/// The requests that put one chain with these rules in force, all or nothing.
pub(crate) fn install(rules: &[&[Step]]) -> Vec<Message> {
    let mut messages = vec![border(libc::NFNL_MSG_BATCH_BEGIN as u16)];
    messages.push(
        request(
            "create the filter's table",
            libc::NFT_MSG_NEWTABLE,
            libc::NLM_F_CREATE,
        )
        .text(1, TABLE),
    );
    messages.push(
        request(
            "create the filter's chain",
            libc::NFT_MSG_NEWCHAIN,
            libc::NLM_F_CREATE,
        )
        .text(1, TABLE)
        .text(3, CHAIN)
        .nested(4, |hook| {
            hook.attribute(1, &BEFORE_ROUTING.to_be_bytes())
                .attribute(2, &PRIORITY.to_be_bytes())
        })
        .text(7, "filter"),
    );
    messages.extend(rules.iter().map(|steps| rule(steps)));
    messages.push(border(libc::NFNL_MSG_BATCH_END as u16));
    messages
}

fn rule(steps: &[Step]) -> Message {
    request(
        "add a rule to the filter",
        libc::NFT_MSG_NEWRULE,
        libc::NLM_F_CREATE | libc::NLM_F_APPEND,
    )
    .text(1, TABLE)
    .text(2, CHAIN)
    .nested(4, |list| {
        steps.iter().fold(list, |list, step| expressions(list, *step))
    })
}

fn expressions(list: Message, step: Step) -> Message {
    match step {
        Step::ForTransparentSocket => {
            let list = expression(list, "socket", |socket| number(number(socket, 1, 0), 2, FIRST));
            compare(list, &[1])
        }
        Step::ToOwnAddress => {
            const ADDRESS_KIND: u32 = 3;
            const OF_DESTINATION: u32 = 2;
            let list = expression(list, "fib", |fib| {
                number(number(number(fib, 1, FIRST), 2, ADDRESS_KIND), 3, OF_DESTINATION)
            });
            compare(list, &u32::from(libc::RTN_LOCAL).to_ne_bytes())
        }
        Step::To(range) => {
            const NETWORK_HEADER: u32 = 1;
            const DESTINATION: u32 = 16;
            let list = expression(list, "payload", |payload| {
                let payload = number(number(payload, 1, FIRST), 2, NETWORK_HEADER);
                number(number(payload, 3, DESTINATION), 4, 4)
            });
            let list = expression(list, "bitwise", |bitwise| {
                let bitwise = number(number(number(bitwise, 1, FIRST), 2, FIRST), 3, 4);
                let bitwise = bitwise.nested(4, |mask| mask.attribute(1, &range.netmask().octets()));
                bitwise.nested(5, |nothing| nothing.attribute(1, &[0; 4]))
            });
            compare(list, &range.network().octets())
        }
        Step::Protocol(protocol) => {
            const PROTOCOL: u32 = 16;
            let list = expression(list, "meta", |meta| number(number(meta, 1, FIRST), 2, PROTOCOL));
            compare(list, &[protocol])
        }
        Step::Mark(mark) => {
            const MARK: u32 = 3;
            let list = load(list, FIRST, &mark.to_ne_bytes());
            expression(list, "meta", |meta| number(number(meta, 2, MARK), 3, FIRST))
        }
        Step::HandTo(address, port) => {
            let list = load(list, FIRST, &address.octets());
            let list = load(list, SECOND, &port.to_be_bytes());
            expression(list, "tproxy", |tproxy| {
                number(number(number(tproxy, 1, u32::from(IPV4)), 2, FIRST), 3, SECOND)
            })
        }
        Step::Accept => expression(list, "immediate", |verdict| {
            number(verdict, 1, libc::NFT_REG_VERDICT as u32).nested(2, |data| {
                data.nested(2, |code| number(code, 1, libc::NF_ACCEPT as u32))
            })
        }),
    }
}

fn expression(list: Message, name: &str, fill: impl FnOnce(Message) -> Message) -> Message {
    list.nested(1, |element| element.text(1, name).nested(2, fill))
}

/// Goes on only if the first register holds this value.
fn compare(list: Message, value: &[u8]) -> Message {
    const EQUAL: u32 = 0;
    expression(list, "cmp", |compare| {
        number(number(compare, 1, FIRST), 2, EQUAL).nested(3, |data| data.attribute(1, value))
    })
}

fn load(list: Message, register: u32, value: &[u8]) -> Message {
    expression(list, "immediate", |immediate| {
        number(immediate, 1, register).nested(2, |data| data.attribute(1, value))
    })
}

/// Numbers of the filter are in network order, unlike the rest of netlink.
fn number(message: Message, kind: u16, value: u32) -> Message {
    message.attribute(kind, &value.to_be_bytes())
}

fn request(words: &'static str, kind: i32, flags: i32) -> Message {
    let flags = flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK;
    Message::new(words, SUBSYSTEM << 8 | kind as u16, flags, &[IPV4, 0, 0, 0])
}

fn border(kind: u16) -> Message {
    let [high, low] = SUBSYSTEM.to_be_bytes();
    Message::new("change the filter", kind, libc::NLM_F_REQUEST, &[0, 0, high, low])
}
