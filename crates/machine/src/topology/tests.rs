// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;

#[test]
fn siblings_and_caches_are_neighbours() {
    let t = Topology::parse(8, "smt=2, llc=4").unwrap();
    assert_eq!(t.siblings(5).iter().collect::<Vec<_>>(), [4, 5]);
    assert_eq!(t.llc_cpus(5).iter().collect::<Vec<_>>(), [4, 5, 6, 7]);
    assert_eq!((t.nodes(), t.llcs(), t.has_smt()), (1, 2, true));
}

#[test]
fn groups_that_do_not_nest_are_refused_with_their_numbers() {
    let err = Topology::parse(8, "smt=2,llc=3").unwrap_err().to_string();
    assert_eq!(err, "topology: llc=3 must be a multiple of 2 and at most the 8 CPUs");
}

#[test]
fn unknown_parts_are_named() {
    let err = Topology::parse(4, "sockets=2").unwrap_err().to_string();
    assert!(err.contains("\"sockets=2\""), "{err}");
    assert_eq!(Topology::flat(0), Err(TopologyError::Cpus(0)));
}

proptest! {
    #[test]
    fn any_text_is_refused_or_puts_each_cpu_into_its_own_groups(
        text in "(|((smt|llc|node|x)?=?[0-9]{0,11},? ?){0,4}|\\PC{0,20})",
        cpus in prop_oneof![0_u32..17, any::<u32>()],
    ) {
        if let Ok(t) = Topology::parse(cpus, &text) {
            for cpu in [0, cpus / 2, cpus - 1] {
                let groups = [t.siblings(cpu), t.llc_cpus(cpu), t.node_cpus(cpu)];
                prop_assert!(groups.iter().all(|g| g.iter().any(|other| other == cpu)));
                prop_assert!(groups.iter().all(|g| g.iter().all(|other| other < cpus)));
                prop_assert!(groups.is_sorted_by_key(|g| g.iter().count()));
                prop_assert!(t.node_of(cpu) < t.nodes() && t.llc_of(cpu) < t.llcs());
            }
        }
    }
}

/// A hybrid of two cores with two threads, numbered as Linux does, and two without.
fn hybrid() -> Vec<Place> {
    let core = |core, cluster| Place { core, cluster, ..Place::default() };
    vec![core(0, 0), core(1, 1), core(0, 0), core(1, 1), core(2, 2), core(3, 2)]
}

#[test]
fn cores_of_different_sizes_and_siblings_apart_have_their_own_groups() {
    let t = Topology::of_places(&hybrid(), &[]).unwrap();
    assert_eq!(t.siblings(2).iter().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(t.siblings(4).iter().collect::<Vec<_>>(), [4]);
    assert_eq!(t.cluster_cpus(5).iter().collect::<Vec<_>>(), [4, 5]);
    assert_eq!((t.cores(), t.llcs(), t.nodes(), t.has_smt()), (4, 1, 1, true));
    assert_eq!(t.sizes(), None);
}

/// `scx_cid_init()` walks by first CPU: core 0 has 0 and 2, then core 1 has 1 and 3.
#[test]
fn cids_put_siblings_side_by_side() {
    let t = Topology::of_places(&hybrid(), &[]).unwrap();
    let cpus: Vec<u32> = (0..6).filter_map(|cid| t.cid_to_cpu(cid)).collect();
    assert_eq!(cpus, [0, 2, 1, 3, 4, 5]);
    assert_eq!(t.cpu_to_cid(2), Some(1));
    assert_eq!((t.cid_to_cpu(6), t.cpu_to_cid(6)), (None, None));
}

/// Two nodes with CPUs alternately, numbered from the back: the node of CPU 0 comes first.
#[test]
fn distances_follow_their_nodes() {
    let at = |core, node| Place { core, cluster: core, llc: node, node, package: node };
    let places = [at(0, 7), at(1, 3), at(2, 7), at(3, 5)];
    // rows of nodes 3, 5 and 7
    let rows = [vec![10, 12, 17], vec![12, 10, 21], vec![17, 21, 10]];
    let t = Topology::of_places(&places, &rows).unwrap();
    assert_eq!((t.node_of(0), t.node_of(1), t.node_of(3)), (0, 1, 2));
    assert_eq!((t.distance(0, 1), t.distance(0, 2), t.distance(1, 2)), (17, 21, 12));
    assert_eq!(Topology::of_places(&t.places(), &t.distances()), Ok(t));
}

#[test]
fn what_cannot_be_is_refused_with_its_numbers() {
    let at = |core, llc, node| Place { core, cluster: core, llc, node, package: node };
    let err = |places: &[Place], rows: &[Vec<u32>]| {
        Topology::of_places(places, rows).unwrap_err().to_string()
    };
    let split = err(&[at(0, 0, 0), at(0, 1, 0)], &[]);
    assert!(split.starts_with("CPUs [0, 1] share a cluster but not a last-level cache"), "{split}");
    let across = err(&[at(0, 0, 0), at(1, 0, 1)], &[]);
    assert!(across.starts_with("CPUs [0, 1] share a last-level cache but not a node"), "{across}");
    let packages = [at(0, 0, 0), Place { package: 1, ..at(0, 0, 0) }];
    let torn = err(&packages, &[]);
    assert!(torn.starts_with("CPUs [0, 1] share a core but not a package"), "{torn}");
    let nodes = [at(0, 0, 0), at(1, 1, 1)];
    assert!(err(&nodes, &[vec![10]]).contains("expected 2 rows of 2"));
    let near = err(&nodes, &[vec![10, 10], vec![20, 10]]);
    assert_eq!(near, "distance 10 of node 0 to node 1: expected 11 to 254");
    let own = err(&nodes, &[vec![0, 20], vec![20, 10]]);
    assert_eq!(own, "distance 0 of node 0 to node 0: expected 10, that of a node to itself");
}

/// Places that nest: a node of each cache, a cache of each core; and a package of each core.
fn nested() -> impl Strategy<Value = Vec<Place>> {
    let cpus = prop::collection::vec(0_u32..12, 1..40);
    let outer = |inner: u32| prop::collection::vec(0..inner, inner as usize);
    let all = (cpus, outer(12), outer(12), outer(12), outer(12));
    all.prop_map(|(cores, clusters, llcs, nodes, packages)| {
        let place = |core: u32| {
            let cluster = clusters[core as usize];
            let llc = llcs[cluster as usize];
            let (node, package) = (nodes[llc as usize], packages[core as usize]);
            Place { core, cluster, llc, node, package }
        };
        cores.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn any_arrangement_keeps_who_is_with_whom(places in nested()) {
        let t = Topology::of_places(&places, &[]).unwrap();
        for (one, a) in places.iter().zip(0..) {
            for (other, b) in places.iter().zip(0..) {
                prop_assert_eq!(t.siblings(a).contains(b), one.core == other.core);
                prop_assert_eq!(t.cluster_cpus(a).contains(b), one.cluster == other.cluster);
                prop_assert_eq!(t.llc_cpus(a).contains(b), one.llc == other.llc);
                prop_assert_eq!(t.node_of(a) == t.node_of(b), one.node == other.node);
                prop_assert_eq!(t.package_cpus(a).contains(b), one.package == other.package);
            }
        }
        prop_assert_eq!(Topology::of_places(&t.places(), &t.distances()), Ok(t));
    }

    #[test]
    fn cids_are_a_permutation_in_which_groups_are_neighbours(places in nested()) {
        let t = Topology::of_places(&places, &[]).unwrap();
        let cpus: Vec<u32> = (0..t.cpus()).filter_map(|cid| t.cid_to_cpu(cid)).collect();
        for (cid, cpu) in cpus.iter().enumerate() {
            prop_assert_eq!(t.cpu_to_cid(*cpu), Some(cid as u32));
        }
        for kind in [Topology::core_of, Topology::llc_of, Topology::node_of] {
            let mut runs: Vec<u32> = cpus.iter().map(|cpu| kind(&t, *cpu)).collect();
            runs.dedup();
            let mut kinds = runs.clone();
            kinds.sort_unstable();
            kinds.dedup();
            prop_assert_eq!(runs.len(), kinds.len());
        }
    }

    #[test]
    fn a_regular_machine_keeps_its_sizes_and_its_numbers_are_its_cids(
        (smt, cores, caches, nodes) in (1_u32..4, 1_u32..5, 1_u32..4, 1_u32..4),
    ) {
        let (llc, node) = (smt * cores, smt * cores * caches);
        let t = Topology::new(node * nodes, smt, llc, node).unwrap();
        prop_assert_eq!(t.sizes(), Some([smt, llc, node]));
        for cpu in 0..t.cpus() {
            prop_assert_eq!(t.cpu_to_cid(cpu), Some(cpu));
            prop_assert_eq!(t.core_of(cpu), cpu / smt);
            prop_assert_eq!(t.llc_of(cpu), cpu / llc);
            prop_assert_eq!(t.node_of(cpu), cpu / node);
        }
    }
}
