// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of bytes between tasks, as pipes and connections are: what a file says of them.

/// Where bytes wait until a task takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) name: String,
    /// Bytes that it can hold; `None`: any number.
    pub(crate) capacity: Option<u64>,
    /// Bytes that it holds at the beginning.
    pub(crate) holds: u64,
    /// A task that waits for room goes on when so many bytes have room.
    pub(crate) refill: u64,
}

impl Stream {
    /// One that the file does not describe.
    pub(crate) fn plain(name: String) -> Self {
        Stream { name, capacity: None, holds: 0, refill: 1 }
    }
}

/// Work during which bytes are taken out of streams or put into some, evenly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) run_ns: u64,
    pub(crate) transfers: Vec<Transfer>,
}

/// All that a flow puts into one stream or takes out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// By its index in the workload.
    pub(crate) stream: u32,
    pub(crate) puts: bool,
    pub(crate) bytes: u64,
    /// In so many calls, from 1 up, as equal as whole bytes are.
    pub(crate) calls: u32,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) stream: u32,
    pub(crate) puts: bool,
    pub(crate) bytes: u64,
}

impl Flow {
    /// The calls in their order. Transfers that take stand before those that put.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let amounts: Vec<(u64, u32)> = self.transfers.iter().map(|t| (t.bytes, t.calls)).collect();
        let call = |(transfer, bytes): (usize, u64)| {
            let Transfer { stream, puts, .. } = self.transfers[transfer];
            Call { stream, puts, bytes }
        };
        spread(&amounts).into_iter().map(call).collect()
    }
}

/// The calls of a flow in their order, each by the place of its transfer among these, with its bytes:
/// those of each transfer evenly over the whole, and what comes to the same place in the order of the
/// transfers. They are given as bytes and calls.
pub fn spread(transfers: &[(u64, u32)]) -> Vec<(usize, u64)> {
    if let [(bytes, 1)] = *transfers {
        return vec![(0, bytes)];
    }
    let mut calls: Vec<(u64, usize, u64)> = Vec::new();
    for (order, (bytes, count)) in transfers.iter().copied().enumerate() {
        let share = |call: u32| part(bytes, call.into(), count.into());
        // The middle of the call's part, in 2^-32 of the whole.
        let place = |call: u32| ((2 * u64::from(call) + 1) << 31) / u64::from(count);
        let each = (0..count).map(|call| (place(call), order, share(call + 1) - share(call)));
        calls.extend(each);
    }
    calls.sort_unstable();
    calls.into_iter().map(|(_, order, bytes)| (order, bytes)).collect()
}

/// So much of a whole, rounded down.
pub(crate) fn part(whole: u64, number: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(number) / u128::from(of.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_several_streams_take_turns() {
        let transfer = |stream, bytes, calls| Transfer { stream, puts: true, bytes, calls };
        let flow = Flow { run_ns: 0, transfers: vec![transfer(0, 300, 3), transfer(1, 7, 2)] };
        let order: Vec<(u32, u64)> =
            flow.calls().iter().map(|call| (call.stream, call.bytes)).collect();
        // Middles: 1/6, 1/2, 5/6 of stream 0; 1/4 and 3/4 of stream 1.
        assert_eq!(order, [(0, 100), (1, 3), (0, 100), (1, 4), (0, 100)]);
    }

    #[test]
    fn calls_at_the_same_place_come_in_the_order_of_the_transfers() {
        let transfer = |stream, puts| Transfer { stream, puts, bytes: 8, calls: 1 };
        let flow = Flow { run_ns: 0, transfers: vec![transfer(0, false), transfer(1, true)] };
        let order: Vec<bool> = flow.calls().iter().map(|call| call.puts).collect();
        assert_eq!(order, [false, true]);
    }
}
