//! Publishing events.

use k8s_openapi::api::{core, core::v1::ConfigMap, events::v1::Event as Stored};
use kube::{
    Api, Resource as _,
    api::{ListParams, PostParams},
    runtime::events::{Event, EventType, Recorder, Reporter},
};

use crate::{config_map, with_client};

#[test]
fn repeated_events_become_a_series() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let subject = maps
            .create(&PostParams::default(), &config_map("subject", "a", "1"))
            .await
            .unwrap();
        let reporter = Reporter {
            controller: "trains".to_owned(),
            instance: Some("trains-1".to_owned()),
        };
        let recorder = Recorder::new(client.clone(), reporter);
        let event = Event {
            type_: EventType::Warning,
            reason: "Late".to_owned(),
            note: Some("ten minutes".to_owned()),
            action: "Departing".to_owned(),
            secondary: None,
        };
        for _ in 0..3 {
            recorder.publish(&event, &subject.object_ref(&())).await.unwrap();
        }
        let stored: Api<Stored> = Api::default_namespaced(client.clone());
        let [event] =
            <[Stored; 1]>::try_from(stored.list(&ListParams::default()).await.unwrap().items).unwrap();
        assert_eq!(event.reason.as_deref(), Some("Late"));
        assert_eq!(event.regarding.unwrap().name.as_deref(), Some("subject"));
        assert_eq!(event.series.unwrap().count, 3);

        // The older kind of event shows the same object in its own words.
        let older: Api<core::v1::Event> = Api::default_namespaced(client);
        let about = ListParams::default().fields("involvedObject.name=subject,reason=Late");
        let listed = older.list(&about).await.unwrap();
        assert_eq!(listed.items[0].message.as_deref(), Some("ten minutes"));
        assert_eq!(listed.items[0].reporting_component.as_deref(), Some("trains"));
    });
}
