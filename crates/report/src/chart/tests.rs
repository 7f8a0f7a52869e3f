// SPDX-License-Identifier: MIT OR Apache-2.0
//! Charts as their readers get them: well-formed, described, inside of their frame.

use super::*;
use proptest::prelude::*;
use roxmltree::{Document, Node};

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed");
    let words = document.descendants().filter(|node| node.has_tag_name("text"));
    words.filter_map(|node| node.text().map(str::to_owned)).collect()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).and_then(|text| text.parse().ok()).expect("a number")
}

fn heat(values: Vec<Vec<Option<f64>>>) -> HeatMap {
    let names = |count: usize| (0..count).map(|n| n.to_string()).collect();
    let (title, description, unit) = ("T".into(), "D".into(), "tu".into());
    let (x_label, y_label) = ("x".into(), "y".into());
    let (x, y) = (names(values.first().map_or(0, Vec::len)), names(values.len()));
    HeatMap { title, description, x_label, x, y_label, y, unit, values }
}

#[test]
fn a_heat_map_says_its_numbers_in_words() {
    let svg = heat(vec![vec![Some(479.0), None], vec![Some(-3.8), Some(0.0)]]).render();
    let words = texts(&svg);
    for word in ["T (tu)", "479", "−3.80", "0.00", "x", "y"] {
        assert!(words.iter().any(|text| text == word), "{word}: {words:?}");
    }
    assert!(!words.iter().any(|text| text == "–"), "{words:?}");
    assert!(svg.contains("y 0, x 1: not run</title>"), "{svg}");
    let document = Document::parse(&svg).expect("well-formed");
    let description = document.descendants().find(|node| node.has_tag_name("desc"));
    assert_eq!(description.and_then(|node| node.text()), Some("D"));
}

#[test]
fn a_heat_map_has_no_row_or_column_without_a_number() {
    let rows = [[None; 3], [Some(1.0), None, Some(2.0)], [None, None, Some(3.0)]];
    let svg = heat(rows.map(Vec::from).into()).render();
    let words = texts(&svg);
    // Columns 0 and 2, rows 1 and 2.
    let names: Vec<&str> =
        words.iter().map(String::as_str).filter(|text| text.len() == 1).collect();
    assert_eq!(names, ["1", "2", "0", "2", "x", "y"]);
    let document = Document::parse(&svg).expect("well-formed");
    let cells: Vec<Node<'_, '_>> =
        document.descendants().filter(|node| node.has_tag_name("rect")).collect();
    assert_eq!(cells.len(), 4);
    // They fill the width that three had.
    assert!(number(cells[1], "x") + number(cells[1], "width") > 440.0);
}

#[test]
fn lanes_are_cut_at_the_end_of_the_axis() {
    let row =
        Lane { name: "A".into(), times: vec![(0.0, 20.0), (980.0, 1020.0), (2000.0, 2020.0)] };
    let lanes = Lanes { end: 1000.0, every: 300.0, rows: vec![row], ..Lanes::default() };
    let svg = lanes.render();
    let document = Document::parse(&svg).expect("well-formed");
    let bars: Vec<Node<'_, '_>> =
        document.descendants().filter(|node| node.has_tag_name("rect")).collect();
    assert_eq!(bars.len(), 2);
    assert!(number(bars[1], "x") + number(bars[1], "width") <= 460.0);
    let marks = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
    assert_eq!(marks.count(), 3);
}

#[test]
fn bars_are_as_long_as_their_numbers() {
    let bar = |name: &str, value| Bar { name: name.into(), value };
    let group = |name: &str, bars| BarGroup { name: name.into(), bars };
    let groups = vec![
        group("one", vec![bar("A", 4.0), bar("B", 2.0)]),
        group("two", vec![bar("A", 0.0), bar("B", f64::NAN)]),
    ];
    let svg = Bars { groups, ..Bars::default() }.render();
    let document = Document::parse(&svg).expect("well-formed");
    let bars = document.descendants().filter(|node| node.has_tag_name("rect"));
    let widths: Vec<f64> = bars.map(|bar| number(bar, "width")).collect();
    assert_eq!((widths.len(), widths[1], widths[2]), (3, widths[0] / 2.0, 0.0));
    let words = texts(&svg);
    for word in ["one", "two", "4", "2", "0", "–"] {
        assert!(words.iter().any(|text| text == word), "{word}: {words:?}");
    }
}

#[test]
fn the_last_mark_of_an_axis_stays_in_the_picture() {
    let line = Line { name: "l".into(), points: vec![(1.0, 1.0), (10_000.0, 2.0)] };
    let axis = |scale| Axis { label: "a".into(), scale };
    let (x, y) = (axis(Scale::Logarithmic), axis(Scale::Linear));
    let svg = LineChart { x, y, lines: vec![line], ..LineChart::default() }.render();
    let document = Document::parse(&svg).expect("well-formed");
    let last = document.descendants().find(|node| node.text() == Some("10,000")).expect("a mark");
    // In its middle, 16 from the edge, it would need 18 to its right.
    assert_eq!(last.attribute("class"), Some("small end"));
    assert!(number(last, "x") <= 460.0);
}

proptest! {
    #[test]
    fn any_numbers_give_a_well_formed_picture(
        points in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..20), log in any::<bool>(),
    ) {
        let scale = if log { Scale::Logarithmic } else { Scale::Linear };
        let axis = || Axis { label: "l".into(), scale };
        let cells = points.iter().map(|(x, _)| Some(*x)).collect();
        let bar = |(value, _): &(f64, f64)| Bar { name: "<&>".into(), value: *value };
        let group = BarGroup { name: "g".into(), bars: points.iter().map(bar).collect() };
        let bars = Bars { groups: vec![group], ..Bars::default() };
        prop_assert!(Document::parse(&bars.render()).is_ok());
        let line = Line { name: "<&>".into(), points };
        let chart = LineChart { x: axis(), y: axis(), lines: vec![line], ..LineChart::default() };
        prop_assert!(Document::parse(&chart.render()).is_ok());
        prop_assert!(Document::parse(&heat(vec![cells]).render()).is_ok());
    }
}

#[test]
fn areas_are_stacked_up_to_the_whole() {
    let band = |name: &str, parts: [f64; 3]| Band { name: name.into(), parts: parts.into() };
    let svg = Areas {
        title: "Shares".into(),
        at: vec![0.0, 1.0, 2.0],
        bands: vec![band("a", [0.25, 0.5, 1.0]), band("b", [0.75, 0.5, 0.0])],
        ..Areas::default()
    }
    .render();
    let document = Document::parse(&svg).expect("well-formed");
    let polygons = document.descendants().filter(|node| node.has_tag_name("polygon"));
    let heights: Vec<Vec<f64>> = polygons
        .map(|polygon| {
            let points = polygon.attribute("points").expect("points").split(' ');
            let height = |point: &str| point.split_once(',').and_then(|(_, y)| y.parse().ok());
            points.map(|point| height(point).expect("a number")).collect()
        })
        .collect();
    // Upper edge of the first from left to right, then its lower edge back; in pixels downwards.
    let (bottom, top) = (heights[0][3], heights[1][0]);
    assert_eq!(heights[0][..3], [0.25, 0.5, 1.0].map(|part| bottom + part * (top - bottom)));
    assert_eq!(heights[1][..3], [top; 3]);
    assert_eq!(heights[1][3..], [heights[0][2], heights[0][1], heights[0][0]]);
    assert!(texts(&svg).iter().any(|word| word == "100%"));
}
