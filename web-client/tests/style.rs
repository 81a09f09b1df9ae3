//! The colours of the page: contrast as WCAG AA asks for it, and hues that colour-blind eyes tell
//! apart, both computed from the custom properties of the style sheet.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const STYLE: &str = include_str!("../style.css");

/// WCAG 2.2, 1.4.3: text.
const TEXT: f64 = 4.5;
/// WCAG 2.2, 1.4.11: graphics that carry meaning, and the focus.
const GRAPHICS: f64 = 3.0;
/// Least distance of two hues in OKLab. Just noticeable is about 0.02; in the palette of Okabe and
/// Ito, made for colour-blind eyes, the nearest two are 0.076 apart under these simulations.
const APART: f64 = 0.1;

type Rgb = [f64; 3];

const SCHEMES: [&str; 2] = ["light", "dark"];
const PARTS: [&str; 4] = ["path", "browser", "page", "paint"];

/// A custom property in a scheme, linear light.
fn colour(name: &str, scheme: usize) -> Rgb {
    let property = format!("--{name}: light-dark(");
    let rest = STYLE.split(&property).nth(1).unwrap_or_else(|| panic!("no {name}"));
    let both = rest.split(')').next().unwrap();
    let hex = both.split(',').nth(scheme).unwrap().trim().trim_start_matches('#');
    assert_eq!(hex.len(), 6, "{name}: {hex}");
    [0, 2, 4].map(|at| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance([r, g, b]: Rgb) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

fn by(matrix: [[f64; 3]; 3], rgb: Rgb) -> Rgb {
    matrix.map(|row| row.iter().zip(rgb).map(|(weight, value)| weight * value).sum())
}

/// Machado, Oliveira and Fernandes 2009, severity 1.0, in linear light.
const BLINDNESS: [(&str, [[f64; 3]; 3]); 4] = [
    ("none", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// Björn Ottosson's OKLab, of linear light.
fn oklab(rgb: Rgb) -> Rgb {
    let lms = by(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ],
        rgb,
    );
    by(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ],
        lms.map(|value| value.max(0.0).cbrt()),
    )
}

fn distance(one: Rgb, other: Rgb) -> f64 {
    oklab(one).iter().zip(oklab(other)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[wasm_bindgen_test(unsupported = test)]
fn contrasts_are_those_of_wcag_aa_in_both_schemes() {
    let text = ["ink", "soft"];
    let graphics = ["path", "browser", "page", "paint", "quiet", "focus"];
    for (scheme, said) in SCHEMES.iter().enumerate() {
        for ground in ["ground", "raised"] {
            let under = colour(ground, scheme);
            for (names, least) in [(&text[..], TEXT), (&graphics[..], GRAPHICS)] {
                for name in names {
                    let contrast = contrast(colour(name, scheme), under);
                    assert!(contrast >= least, "{name} on {ground}, {said}: {contrast:.2}");
                }
            }
        }
        // An error's text has the path's hue, and a link the focus's.
        for name in ["path", "focus"] {
            let contrast = contrast(colour(name, scheme), colour("ground", scheme));
            assert!(contrast >= TEXT, "{name} as text, {said}: {contrast:.2}");
        }
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn the_parts_are_told_apart_by_colour_blind_eyes() {
    for (scheme, said) in SCHEMES.iter().enumerate() {
        for (eyes, matrix) in BLINDNESS {
            for (index, one) in PARTS.iter().enumerate() {
                for other in &PARTS[index + 1..] {
                    let [one_seen, other_seen] =
                        [one, other].map(|name| by(matrix, colour(name, scheme)));
                    let apart = distance(one_seen, other_seen);
                    assert!(apart >= APART, "{one} and {other}, {said}, {eyes}: {apart:.3}");
                }
            }
        }
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn the_measures_are_the_known_ones() {
    let [black, white] = [[0.0; 3], [1.0; 3]];
    assert!((contrast(black, white) - 21.0).abs() < 1e-9);
    assert!((distance(black, white) - 1.0).abs() < 1e-3);
    // Red and green of one lightness: far apart for most, near for a deuteranope.
    let (red, green) = ([0.35, 0.02, 0.02], [0.06, 0.12, 0.02]);
    let seen = |eyes: usize| {
        let matrix = BLINDNESS[eyes].1;
        distance(by(matrix, red), by(matrix, green))
    };
    assert!(seen(0) > 3.0 * seen(2), "{} {}", seen(0), seen(2));
}
