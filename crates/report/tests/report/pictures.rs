//! What has to be true of every picture in a file.

use crate::made::{HURT, experiment, mixed};
use pipefill_report::md::{self, Link};
use pipefill_report::pictures::{PictureFile, files};
use pipefill_report::png::Painter;
use resvg::tiny_skia::Pixmap;
use std::collections::BTreeSet;

fn pictures() -> Vec<PictureFile> {
    let (experiment, runs) = experiment(3);
    files(&experiment, &runs)
}

#[test]
fn there_is_one_of_each_chart_and_two_of_each_cell() {
    let names: Vec<String> = pictures().into_iter().map(|picture| picture.name).collect();
    assert_eq!(
        names,
        [
            "01-goodput-against-the-round-trip",
            "02-round-trip-under-load-by-rtt",
            "03-how-far-repetitions-lie-from-their-median",
            "04-over-time-rtt-0ms",
            "05-over-time-rtt-100ms",
            "06-round-trips-rtt-0ms",
            "07-round-trips-rtt-100ms"
        ]
    );
}

#[test]
fn each_is_a_document_of_its_own_that_needs_nobody() {
    for picture in pictures() {
        let tree = resvg::usvg::roxmltree::Document::parse(&picture.svg);
        let root =
            tree.as_ref().map(|tree| tree.root_element()).unwrap_or_else(|e| panic!("{}: {e}", picture.name));
        assert_eq!(root.tag_name().name(), "svg");
        for word in ["var(", "light-dark", "href", "url(", "<script", " style=", "@import"] {
            assert!(!picture.svg.contains(word), "{}: {word}", picture.name);
        }
    }
}

/// A flow of each kind and pings: each has its line, with its name and a colour of its own.
#[test]
fn a_run_of_several_flows_has_a_line_for_each() {
    let (experiment, runs) = mixed();
    let pictures = files(&experiment, &runs);
    let svg = |part: &str| &pictures.iter().find(|picture| picture.name.contains(part)).unwrap().svg;
    let over_time = svg("over-time");
    for name in ["path rate →", "all →", "0 tcp →", "1 udp →", "2 tcp ←", "ping", "RTT, 0 tcp →"]
    {
        assert!(over_time.contains(&format!(">{name}</text>")), "{name}");
    }
    assert!(over_time.contains("limited by, 2 tcp ←") && over_time.contains("congestion state, 0 tcp →"));
    for line in ["line c0\"", "line c1\"", "line c2\"", "line c6\"", "line rate\""] {
        assert!(over_time.contains(line), "{line}");
    }
    let trips = svg("round-trips");
    for name in
        ["0 tcp →, smoothed", "2 tcp ←, smoothed", "pings under load", "pings without load", "idle RTT"]
    {
        assert!(trips.contains(&format!(">{name}</text>")), "{name}");
    }
}

/// Every axis says what it shows, and every value along it has its unit.
#[test]
fn axes_have_names_and_units() {
    for picture in pictures() {
        let tree = resvg::usvg::roxmltree::Document::parse(&picture.svg).unwrap();
        let texts = |class: &str| -> BTreeSet<String> {
            let of_class = tree.descendants().filter(|node| {
                let classes: Vec<&str> = node.attribute("class").unwrap_or_default().split(' ').collect();
                // A value of the scenario stands as it is written there.
                classes.contains(&class) && !classes.contains(&"value")
            });
            of_class.filter_map(|node| node.text().map(str::to_owned)).collect()
        };
        assert!(!texts("name").is_empty(), "{}", picture.name);
        for place in
            texts("end").union(&texts("middle")).filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        {
            let is_ratio = place.parse::<f64>().is_ok_and(|value| value < 20.0);
            assert!(place.contains(' ') || is_ratio || place == "0", "{}: {place}", picture.name);
        }
    }
}

#[test]
fn names_of_a_scenario_stay_text() {
    let (mut experiment, runs) = experiment(1);
    for cell in &mut experiment.cells {
        let value = format!("{HURT}\u{1}\u{fffe}{}", cell.axes["path.rtt"]);
        cell.axes.insert("path.rtt".to_owned(), value);
    }
    for picture in files(&experiment, &runs) {
        resvg::usvg::roxmltree::Document::parse(&picture.svg)
            .unwrap_or_else(|e| panic!("{}: {e}", picture.name));
        assert!(!picture.svg.contains("<script"), "{}", picture.name);
        assert!(
            picture.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{}",
            picture.name
        );
    }
}

#[test]
fn a_png_is_as_wide_as_asked_white_and_has_its_words_without_the_machine() {
    let picture = &pictures()[0];
    for width in [400, 1600] {
        let [carried, all] =
            [Painter::carried(), Painter::new()].map(|painter| painter.png(&picture.svg, width).unwrap());
        assert_eq!(carried, all, "the machine's own fonts change nothing");
        let pixels = Pixmap::decode_png(&carried).unwrap();
        assert_eq!(pixels.width(), width);
        let white = |x, y| {
            pixels
                .pixel(x, y)
                .is_some_and(|p| (p.red(), p.green(), p.blue(), p.alpha()) == (255, 255, 255, 255))
        };
        assert!(white(0, 0) && white(width - 1, pixels.height() - 1));
        let title = pixels.height() / 20;
        let dark =
            (0..title).flat_map(|y| (0..width).map(move |x| (x, y))).filter(|&(x, y)| !white(x, y)).count();
        assert!(dark > 100, "{dark} pixels of the title");
    }
}

#[test]
fn a_width_without_memory_is_refused() {
    assert!(Painter::carried().png(&pictures()[0].svg, u32::MAX).is_err());
}

#[test]
fn markdown_shows_pictures_by_their_names() {
    let (experiment, _) = experiment(1);
    let link = Link { title: "A [picture]".to_owned(), path: "pictures/01-a.svg".to_owned() };
    assert!(md::render(&experiment, &[link]).contains("![A \\[picture\\]](pictures/01-a.svg)"));
}

/// With another axis than a round trip or a loss, and nothing measured in one of its cells.
fn by_queue(unmeasured: usize) -> Vec<PictureFile> {
    let (mut experiment, runs) = experiment(1);
    for (cell, queue) in experiment.cells.iter_mut().zip(["1bdp", "4bdp"]) {
        cell.axes = [("path.queue".to_owned(), queue.to_owned())].into_iter().collect();
        if cell.index == unmeasured {
            cell.goodput_bps = None;
            cell.flows.clear();
        }
    }
    files(&experiment, &runs)
}

#[test]
fn every_axis_has_its_charts() {
    let names: Vec<String> = by_queue(9).into_iter().map(|picture| picture.name).collect();
    assert_eq!(names[..2], ["01-goodput-by-queue", "02-round-trip-under-load-by-queue"]);
    assert!(by_queue(0).iter().all(|picture| !picture.name.contains("by-queue")), "one point is no chart");
}

#[test]
fn a_series_keeps_its_colour_where_others_have_no_value() {
    let colours = |unmeasured: &str| -> BTreeSet<String> {
        let (mut experiment, runs) = experiment(1);
        let cells = experiment.cells.clone();
        experiment.cells.extend(cells);
        for (number, cell) in experiment.cells.iter_mut().enumerate() {
            let control = ["cubic", "bbr"][number / 2];
            cell.axes.insert("host.congestion_control".to_owned(), control.to_owned());
            if control == unmeasured {
                cell.goodput_bps = None;
            }
        }
        let plot = files(&experiment, &runs).into_iter().find(|file| file.name.contains("goodput-against"));
        let svg = plot.unwrap().svg;
        let tree = resvg::usvg::roxmltree::Document::parse(&svg).unwrap();
        let dots = tree.descendants().filter_map(|node| node.attribute("class"));
        let tones = dots.filter_map(|class| class.strip_prefix("dot "));
        tones.filter_map(|tone| tone.rsplit(' ').next()).map(str::to_owned).collect()
    };
    assert_eq!(colours("none").into_iter().collect::<Vec<_>>(), ["c0", "c1"]);
    assert_eq!(colours("cubic").into_iter().collect::<Vec<_>>(), ["c1"]);
}
