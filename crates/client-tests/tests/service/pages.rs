//! Lists, page by page: forwards and back, by the body and by the header every client of the web knows.

use serde_json::Value;

use crate::{Service, curl::Reply};

/// Where a page says that another is.
fn link(reply: &Reply, relation: &str) -> Option<String> {
    let wanted = format!("rel=\"{relation}\"");
    let links = reply.header("link")?.split(", ");
    let found = links.into_iter().find(|link| link.ends_with(&wanted))?;
    let (address, _) = found.strip_prefix('<')?.split_once('>')?;
    Some(address.to_owned())
}

fn names(reply: &Reply) -> Vec<String> {
    let page = reply.expect(200);
    let rows = page["items"].as_array().unwrap();
    let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
    rows.iter().map(name).collect()
}

#[test]
fn a_list_is_walked_by_its_links() {
    let service = Service::start();
    for number in 0..5 {
        service.register_countdown(&format!("countdown {number}"));
    }
    let mut all = names(&service.get("/v1/definitions?template=countdown-task"));
    assert_eq!(all.len(), 5);
    let first = "/v1/definitions?template=countdown-task&limit=2";
    let (mut pages, mut next) = (Vec::new(), Some(first.to_owned()));
    let mut last = String::new();
    while let Some(path) = next {
        let reply = service.get(&path);
        pages.push(names(&reply));
        next = link(&reply, "next");
        let cursor = &reply.expect(200)["next_cursor"];
        assert_eq!(cursor.is_string(), next.is_some());
        assert_eq!(link(&reply, "first").is_some(), path != first);
        last = path;
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(pages.concat(), all);

    // And back, to where it began.
    let (mut back, mut previous) = (Vec::new(), Some(last));
    while let Some(path) = previous {
        let reply = service.get(&path);
        back.push(names(&reply));
        previous = link(&reply, "prev");
    }
    back.reverse();
    assert_eq!(back, pages);

    // Those that have no index of their own.
    let reply = service.get("/v1/node-groups?limit=1");
    let groups = service.get(&link(&reply, "next").expect("there are two groups"));
    assert_eq!(names(&groups).len(), 1);
    let begin = link(&groups, "prev").unwrap();
    assert_eq!(names(&service.get(&begin)), names(&reply));
    all.sort();
    assert_eq!(all[0], "countdown 0");
}
