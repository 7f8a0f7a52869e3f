// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two hosts picked the same tasks in the same order.

/// How many picks one host may be ahead when the time is over.
const MOST_AHEAD: usize = 3;

/// How many picks are the same in both, or what is not. Both hosts stop at the same time of
/// the clock, so one may be a pick ahead.
pub fn same(simulator: &[u32], kernel: &[u32], least: usize) -> Result<usize, String> {
    let common = simulator.len().min(kernel.len());
    if let Some(at) = (0..common).find(|i| simulator[*i] != kernel[*i]) {
        let around = at.saturating_sub(4)..(at + 4).min(common);
        return Err(format!(
            "pick {} of {common} differs: simulator {:?}, kernel {:?}",
            at + 1,
            &simulator[around.clone()],
            &kernel[around]
        ));
    }
    if simulator.len().abs_diff(kernel.len()) > MOST_AHEAD {
        return Err(format!(
            "{} picks in the simulator, {} in the kernel",
            simulator.len(),
            kernel.len()
        ));
    }
    if common < least {
        return Err(format!("only {common} picks, {least} are wanted"));
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_may_be_a_pick_ahead_at_the_end() {
        assert_eq!(same(&[0, 1, 0], &[0, 1, 0, 1], 3), Ok(3));
        assert!(same(&[0; 10], &[0; 14], 3).unwrap_err().contains("10 picks in the simulator"));
    }

    #[test]
    fn the_first_difference_is_told() {
        let told = same(&[0, 1, 0, 1], &[0, 1, 1, 1], 1).unwrap_err();
        assert_eq!(told, "pick 3 of 4 differs: simulator [0, 1, 0, 1], kernel [0, 1, 1, 1]");
    }

    #[test]
    fn too_few_prove_nothing() {
        assert_eq!(same(&[0], &[0], 2), Err("only 1 picks, 2 are wanted".into()));
    }
}
