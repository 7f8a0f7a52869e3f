// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `run`, `runtime`, `sleep`, `timer` and `yield` do.

use super::news::{signed_difference, News};
use super::step::Step;
use super::Runner;
use crate::event::{TimeEvent, TimerKind, TimerRef};
use crate::model::TaskIx;
use rota_choice::Choices;

impl Runner {
    pub(super) fn time_event(
        &mut self,
        task: TaskIx,
        event: TimeEvent,
        now_ns: u64,
        choices: &mut Choices,
    ) -> Option<Step> {
        let state = &mut self.tasks[task.0 as usize];
        match event {
            TimeEvent::Run(span) => {
                let work_ns = state.draw(&span, task, choices);
                (work_ns > 0).then_some(Step::Run { work_ns })
            }
            TimeEvent::Runtime(span) => {
                let ns = state.draw(&span, task, choices);
                (ns > 0).then_some(Step::Runtime { ns })
            }
            TimeEvent::Sleep(span) => {
                let ns = state.draw(&span, task, choices);
                (ns > 0).then_some(Step::Sleep { ns })
            }
            TimeEvent::Timer { timer, period } => {
                let period_ns = state.draw(&period, task, choices);
                self.wait_for_timer(task, timer, period_ns, now_ns)
            }
            TimeEvent::Yield => Some(Step::Yield),
        }
    }

    /// A timer that is late does not wait; where it goes on from is a matter of its kind.
    fn wait_for_timer(
        &mut self,
        task: TaskIx,
        timer: TimerRef,
        period_ns: u64,
        now_ns: u64,
    ) -> Option<Step> {
        let state = &mut self.tasks[task.0 as usize];
        let first_ns = state.first_ns;
        let (slot, kind) = match timer {
            TimerRef::Shared(i) => (&mut self.timers[i as usize], self.workload.timers[i as usize]),
            TimerRef::Own(i) => {
                let definition = &self.workload.definitions[state.definition as usize];
                (state.own_timer(i), definition.own_timers[i as usize])
            }
        };
        let released_ns = slot.unwrap_or(first_ns);
        let at_ns = released_ns.saturating_add(period_ns);
        let waits = at_ns > now_ns;
        let next_ns = match kind {
            TimerKind::Relative if !waits => now_ns,
            _ => at_ns,
        };
        *slot = Some(next_ns);
        if period_ns > 0 {
            let relative = kind == TimerKind::Relative;
            let slack_ns = signed_difference(at_ns, now_ns);
            let response_ns = now_ns.saturating_sub(released_ns);
            self.news.push(News::JobEnds { task, response_ns, slack_ns, relative });
            let slack_ns = signed_difference(next_ns.saturating_add(period_ns), now_ns);
            self.news.push(News::JobBegins { task, slack_ns, period_ns, relative });
        }
        waits.then_some(Step::SleepUntil { at_ns })
    }
}
