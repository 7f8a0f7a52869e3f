// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several sinks as one.

use crate::event::{Event, Sink};
use crate::kind::EventKind;

/// Hands every event to all its sinks, in order. Detail is made if any of them wants it, and
/// then kept from those that do not.
#[derive(Default)]
pub struct Tee<'a> {
    sinks: Vec<(&'a mut dyn Sink, bool)>,
    /// Those that want no events.
    enders: Vec<&'a mut dyn Sink>,
}

impl<'a> Tee<'a> {
    /// No sinks yet.
    pub fn new() -> Self {
        Tee::default()
    }

    /// Adds a sink.
    pub fn push(&mut self, sink: &'a mut dyn Sink) {
        let detail = sink.wants_detail();
        match sink.wants_events() {
            true => self.sinks.push((sink, detail)),
            false => self.enders.push(sink),
        }
    }
}

impl Sink for Tee<'_> {
    fn event(&mut self, event: &Event) {
        let is_detail = matches!(
            event.kind,
            EventKind::OpCall { .. } | EventKind::Enqueue { .. } | EventKind::Dispatch { .. }
        );
        for (sink, detail) in &mut self.sinks {
            if *detail || !is_detail {
                sink.event(event);
            }
        }
    }

    fn wants_detail(&self) -> bool {
        self.sinks.iter().any(|(_, detail)| *detail)
    }

    fn has_enough(&self) -> bool {
        let all = self.sinks.iter().map(|(sink, _)| &**sink);
        all.chain(self.enders.iter().map(|sink| &**sink)).any(Sink::has_enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Recorder;

    /// Keeps events, but wants no detail.
    #[derive(Default)]
    struct Plain(Vec<Event>);

    impl Sink for Plain {
        fn event(&mut self, event: &Event) {
            self.0.push(event.clone());
        }
    }

    /// Ends a run, and wants none of its events.
    struct Ends(bool);

    impl Sink for Ends {
        fn event(&mut self, event: &Event) {
            panic!("it wants no events: {event:?}");
        }

        fn wants_events(&self) -> bool {
            false
        }

        fn has_enough(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn a_sink_without_events_only_ends_a_run() {
        for enough in [false, true] {
            let (mut plain, mut ends) = (Plain::default(), Ends(enough));
            let mut tee = Tee::new();
            tee.push(&mut plain);
            tee.push(&mut ends);
            let kind = EventKind::Pick { pid: 1, slice_ns: 2 };
            tee.event(&Event { time_ns: 1, cpu: None, kind });
            assert_eq!(tee.has_enough(), enough);
            drop(tee);
            assert_eq!(plain.0.len(), 1);
        }
    }

    #[test]
    fn every_sink_gets_what_it_wants() {
        let (mut all, mut plain) = (Recorder::default(), Plain::default());
        let mut tee = Tee::new();
        assert!(!tee.wants_detail());
        tee.push(&mut plain);
        assert!(!tee.wants_detail());
        tee.push(&mut all);
        assert!(tee.wants_detail());
        let event = |kind| Event { time_ns: 1, cpu: None, kind };
        let pick = event(EventKind::Pick { pid: 1, slice_ns: 2 });
        let dispatch = event(EventKind::Dispatch { pid: 1, dsq: 0 });
        tee.event(&pick);
        tee.event(&dispatch);
        drop(tee);
        assert_eq!(plain.0, std::slice::from_ref(&pick));
        assert_eq!(all.events, [pick, dispatch]);
    }
}
