// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one source of choices of a run.

use crate::error::ChoiceError;
use crate::recording::Recording;
use crate::site::{Alternatives, Origin, Site};
use std::fmt::Debug;

/// Decides what is asked.
pub trait Strategy: Debug + Send {
    /// Whether it decides at every [`Site`]; `false`: the documented order holds at all but
    /// [`Site::FirstCpu`], and need not be asked for.
    fn orders_ties(&self) -> bool;

    /// Position of one of at least two alternatives.
    fn choose(&mut self, site: Site, among: &dyn Alternatives) -> Result<u32, ChoiceError>;

    /// A random number with [`Origin::bits`].
    fn draw(&mut self, origin: Origin) -> Result<u64, ChoiceError>;

    /// The run is over: whether it was the expected one.
    fn end(&mut self) -> Result<(), ChoiceError> {
        Ok(())
    }
}

/// Makes, and records, all choices of a run. Asking never fails: after an error the documented
/// order holds and random numbers are 0, until whoever runs looks at [`Choices::error`].
#[derive(Debug)]
pub struct Choices {
    strategy: Box<dyn Strategy>,
    recording: Option<Recording>,
    orders_ties: bool,
    error: Option<ChoiceError>,
}

impl Choices {
    /// By a strategy.
    pub fn by(strategy: impl Strategy + 'static) -> Self {
        let orders_ties = strategy.orders_ties();
        Self { strategy: Box::new(strategy), recording: None, orders_ties, error: None }
    }

    /// Recorded from now on.
    #[must_use]
    pub fn recorded(self) -> Self {
        Self { recording: Some(Recording::default()), orders_ties: true, ..self }
    }

    /// Whether the order of ties has to be asked for; `false`: it is the documented one.
    #[inline]
    pub fn orders_ties(&self) -> bool {
        self.orders_ties
    }

    /// Position of one of several alternatives. One alone is no choice.
    pub fn choose(&mut self, site: Site, among: &dyn Alternatives) -> u32 {
        let count = among.count();
        if count < 2 {
            return 0;
        }
        let chosen = match self.error {
            None => self.strategy.choose(site, among),
            Some(_) => return among.documented(),
        };
        match chosen {
            Ok(at) => {
                debug_assert!(at < count, "{site:?}: {at} of {count}");
                if let Some(recording) = &mut self.recording {
                    recording.push_chosen(site, turn(at, among.documented(), count), count);
                }
                at
            }
            Err(error) => {
                self.error = Some(error);
                among.documented()
            }
        }
    }

    /// A random number with [`Origin::bits`].
    pub fn draw(&mut self, origin: Origin) -> u64 {
        if self.error.is_some() {
            return 0;
        }
        match self.strategy.draw(origin) {
            Ok(number) => {
                if let Some(recording) = &mut self.recording {
                    recording.push_drawn(origin, number);
                }
                number
            }
            Err(error) => {
                self.error = Some(error);
                0
            }
        }
    }

    /// Why choices are void, if they are.
    #[inline]
    pub fn error(&self) -> Option<&ChoiceError> {
        self.error.as_ref()
    }

    /// The run is over: whether all choices fitted it.
    pub fn end(&mut self) -> Result<(), ChoiceError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.strategy.end(),
        }
    }

    /// What was recorded, if it was asked for; no more is recorded.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }
}

/// How many places a position is after the documented one, around the end. Recordings count from
/// there, so that 0 is the documented choice.
fn turn(at: u32, documented: u32, count: u32) -> u32 {
    if at >= documented {
        at - documented
    } else {
        count - (documented - at)
    }
}

/// The position that is so many places after the documented one.
pub(crate) fn turned(places: u32, documented: u32, count: u32) -> u32 {
    let left = count - documented;
    if places < left {
        documented + places
    } else {
        places - left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Replayed, Seeded};

    /// So many CPUs, of which the documented order takes one.
    struct Cpus(u32, u32);

    impl Alternatives for Cpus {
        fn count(&self) -> u32 {
            self.0
        }
        fn documented(&self) -> u32 {
            self.1
        }
    }

    #[test]
    fn places_count_from_the_documented_choice_around_the_end() {
        let places: Vec<u32> = (0..4).map(|at| turn(at, 2, 4)).collect();
        assert_eq!(places, [2, 3, 0, 1]);
        let back: Vec<u32> = places.iter().map(|places| turned(*places, 2, 4)).collect();
        assert_eq!(back, [0, 1, 2, 3]);
        assert_eq!(turned(turn(0, u32::MAX - 1, u32::MAX), u32::MAX - 1, u32::MAX), 0);
    }

    #[test]
    fn one_alternative_is_no_choice() {
        let mut choices = Choices::by(Seeded::new(1).with_shuffled_ties()).recorded();
        assert_eq!(choices.choose(Site::Event, &Cpus(1, 0)), 0);
        assert_eq!(choices.take_recording(), Some(Recording::default()));
    }

    #[test]
    fn documented_choices_are_recorded_as_0() {
        let mut choices = Choices::by(Seeded::new(1)).recorded();
        for (count, documented) in [(4, 3), (3, 1), (2, 1)] {
            assert_eq!(choices.choose(Site::Event, &Cpus(count, documented)), documented);
        }
        let text = choices.take_recording().map(|recording| recording.to_string());
        assert_eq!(text.as_deref(), Some("rota.choices/1\nevent 0 of 4..2\nend\n"));
    }

    #[test]
    fn after_an_error_the_documented_order_holds_and_the_first_error_stays() {
        let nothing = Recording::default();
        let mut choices = Choices::by(Replayed::new(nothing.into())).recorded();
        assert_eq!(choices.choose(Site::NextCpu, &Cpus(3, 2)), 2);
        let first = choices.error().cloned();
        assert_eq!(choices.draw(Origin::Policy), 0);
        assert_eq!(choices.choose(Site::Event, &Cpus(3, 1)), 1);
        assert_eq!(choices.end().err(), first);
        assert!(first.is_some());
    }
}
