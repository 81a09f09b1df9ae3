//! Objects that are read and written by one description of their fields, so that the two
//! directions cannot drift apart, and the page has to download one of them.

use js_sys::{Array, Object, Reflect};
use measure::Span;
use measure::stats::{RatioSpread, Spread};
use wasm_bindgen::JsValue;

use crate::json::Json;

/// An object, and what is done with it.
pub(super) enum Fields {
    /// Values are taken from it.
    Read(Json),
    /// Values are put into it.
    Write(Object),
}

/// What is written of a value that is absent. Read, the two are the same.
#[derive(Clone, Copy)]
pub(super) enum Absent {
    /// `null`.
    Null,
    /// Nothing.
    Left,
}

/// How a value of some type is taken out of an object's field.
pub(super) type Take<T> = fn(&Json, &str) -> T;
/// What stands in a field for a value.
pub(super) type Give<T> = fn(&T) -> JsValue;

impl Fields {
    /// An object to be written.
    pub(super) fn writing() -> Fields {
        Fields::Write(Object::new())
    }

    /// Whether values are taken.
    pub(super) fn is_reading(&self) -> bool {
        matches!(self, Fields::Read(_))
    }

    /// What was written; nothing when it was read.
    pub(super) fn written(self) -> JsValue {
        match self {
            Fields::Read(_) => JsValue::NULL,
            Fields::Write(object) => object.into(),
        }
    }

    /// A field that is always there.
    pub(super) fn must<T>(&self, name: &str, value: &mut T, take: Take<T>, give: Give<T>) {
        match self {
            Fields::Read(json) => *value = take(json, name),
            Fields::Write(object) => put(object, name, give(value)),
        }
    }

    /// A field that keeps what it had when it is not there.
    pub(super) fn keeps<T>(&self, name: &str, value: &mut T, take: Take<T>, give: Give<T>) {
        match self {
            Fields::Read(json) if json.get(name).is_none() => {}
            _ => self.must(name, value, take, give),
        }
    }

    /// A field that may be absent.
    pub(super) fn may<T>(
        &self,
        name: &str,
        value: &mut Option<T>,
        absent: Absent,
        take: Take<T>,
        give: Give<T>,
    ) {
        match (self, value) {
            (Fields::Read(json), value) => *value = json.get(name).map(|_| take(json, name)),
            (Fields::Write(object), Some(value)) => put(object, name, give(value)),
            (Fields::Write(object), None) => {
                if let Absent::Null = absent {
                    put(object, name, JsValue::NULL);
                }
            }
        }
    }

    /// An object in a field.
    pub(super) fn within<T>(&self, name: &str, value: &mut T, fields: fn(&Fields, &mut T)) {
        match self {
            Fields::Read(json) => fields(&Fields::Read(json.field(name)), value),
            Fields::Write(object) => put(object, name, given(value, fields)),
        }
    }

    /// A list of objects in a field; each begins as a blank one.
    pub(super) fn list<T>(
        &self,
        name: &str,
        values: &mut Vec<T>,
        blank: fn() -> T,
        fields: fn(&Fields, &mut T),
    ) {
        match self {
            Fields::Read(json) => {
                json.field(name);
                *values = json.list_by(name, &mut |item| {
                    let mut value = blank();
                    fields(&Fields::Read(item.clone()), &mut value);
                    value
                });
            }
            Fields::Write(object) => {
                let list: Array = values.iter_mut().map(|value| given(value, fields)).collect();
                put(object, name, list.into());
            }
        }
    }

    pub(super) fn text(&self, name: &str, value: &mut String) {
        self.must(name, value, Json::text, |text| JsValue::from_str(text));
    }

    pub(super) fn text_if_any(&self, name: &str, value: &mut Option<String>, absent: Absent) {
        self.may(name, value, absent, Json::text, |text| JsValue::from_str(text));
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &str, value: &mut Vec<String>) {
        let take: Take<Vec<String>> =
            |json, name| json.list_by(name, &mut |item| item.value.as_string().unwrap_or_default());
        self.must(name, value, take, |texts| {
            texts.iter().map(|text| JsValue::from_str(text)).collect::<Array>().into()
        });
    }

    pub(super) fn small(&self, name: &str, value: &mut u32) {
        self.must(name, value, Json::small, small);
    }

    pub(super) fn flag(&self, name: &str, value: &mut bool) {
        self.must(name, value, Json::yes_or_no, |on| JsValue::from_bool(*on));
    }

    pub(super) fn span(&self, name: &str, value: &mut Span) {
        self.must(name, value, span_of, span);
    }

    pub(super) fn span_if_any(&self, name: &str, value: &mut Option<Span>) {
        self.may(name, value, Absent::Left, span_of, span);
    }

    pub(super) fn count_if_any(&self, name: &str, value: &mut Option<u64>) {
        let take: Take<u64> = |json, name| {
            json.int(name).try_into().unwrap_or_else(|_| {
                json.wrong(&[name, " is negative"]);
                0
            })
        };
        self.may(name, value, Absent::Left, take, |count| JsValue::from_f64(*count as f64));
    }

    pub(super) fn number(&self, name: &str, value: &mut f64) {
        self.must(name, value, number_of, number);
    }

    pub(super) fn spread(&self, name: &str, value: &mut Option<Spread>, absent: Absent) {
        let take: Take<Spread> = |json, name| {
            let mut spread =
                Spread { median: Span(0), p95: None, p99: None, min: Span(0), max: Span(0), n: 0 };
            spread_fields(&Fields::Read(json.field(name)), &mut spread);
            spread
        };
        self.may(name, value, absent, take, |spread| given(&mut spread.clone(), spread_fields));
    }

    pub(super) fn ratio(&self, name: &str, value: &mut Option<RatioSpread>, absent: Absent) {
        let take: Take<RatioSpread> = |json, name| {
            let mut ratio = RatioSpread { median: 0.0, min: 0.0, max: 0.0 };
            ratio_fields(&Fields::Read(json.field(name)), &mut ratio);
            ratio
        };
        self.may(name, value, absent, take, |ratio| given(&mut ratio.clone(), ratio_fields));
    }
}

/// An object out of a value.
pub(super) fn given<T>(value: &mut T, fields: fn(&Fields, &mut T)) -> JsValue {
    let writing = Fields::writing();
    fields(&writing, value);
    writing.written()
}

fn put(object: &Object, name: &str, value: JsValue) {
    // Setting a field of a plain object of one's own cannot fail.
    let _ = Reflect::set(object, &JsValue::from_str(name), &value);
}

pub(super) fn small(count: &u32) -> JsValue {
    JsValue::from_f64(f64::from(*count))
}

pub(super) fn number(number: &f64) -> JsValue {
    JsValue::from_f64(*number)
}

pub(super) fn number_of(json: &Json, name: &str) -> f64 {
    json.field(name).number()
}

fn span(span: &Span) -> JsValue {
    JsValue::from_f64(span.as_micros() as f64)
}

fn span_of(json: &Json, name: &str) -> Span {
    Span(json.int(name))
}

fn spread_fields(fields: &Fields, spread: &mut Spread) {
    fields.span("median", &mut spread.median);
    fields.span_if_any("p95", &mut spread.p95);
    fields.span_if_any("p99", &mut spread.p99);
    fields.span("min", &mut spread.min);
    fields.span("max", &mut spread.max);
    let mut n = spread.n as u32;
    fields.small("n", &mut n);
    spread.n = n as usize;
}

fn ratio_fields(fields: &Fields, ratio: &mut RatioSpread) {
    fields.number("median", &mut ratio.median);
    fields.number("min", &mut ratio.min);
    fields.number("max", &mut ratio.max);
}
