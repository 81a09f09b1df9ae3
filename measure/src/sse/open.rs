//! The frame that is being parsed, and where the values of its fields are.

/// The frame whose blank line has not come yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open<'b> {
    /// Offset of its first byte; `None` between two frames.
    pub(super) start: Option<u64>,
    /// Bytes of its field lines, without line ends.
    pub(super) size: u64,
    pub(super) data: Kept<'b>,
    pub(super) name: Kept<'b>,
    pub(super) id: Kept<'b>,
}

impl Open<'_> {
    pub(super) const NONE: Self =
        Self { start: None, size: 0, data: Kept::Absent, name: Kept::Absent, id: Kept::Absent };
}

/// Where a field's value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept<'b> {
    Absent,
    /// In the slice that is being fed.
    Slice(&'b [u8]),
    /// In the parser's buffer for that field.
    Buffer,
}

impl<'b> Kept<'b> {
    #[inline]
    pub(super) fn get(self, buffer: &'b [u8]) -> Option<&'b [u8]> {
        match self {
            Kept::Absent => None,
            Kept::Slice(value) => Some(value),
            Kept::Buffer => Some(buffer),
        }
    }

    /// Copies the value out of the slice that is being fed, if it is there.
    #[inline]
    pub(super) fn save(self, buffer: &mut Vec<u8>, limit: usize) -> Kept<'static> {
        match self {
            Kept::Absent => Kept::Absent,
            Kept::Buffer => Kept::Buffer,
            Kept::Slice(value) => {
                buffer.clear();
                append(buffer, value, limit);
                Kept::Buffer
            }
        }
    }
}

/// Appends, doubling the room as it goes but never beyond `limit` while the bytes fit in it.
#[inline]
pub(super) fn append(buffer: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    if bytes.len() > buffer.capacity() - buffer.len() {
        grow(buffer, bytes.len(), limit);
    }
    buffer.extend_from_slice(bytes);
}

#[cold]
fn grow(buffer: &mut Vec<u8>, more: usize, limit: usize) {
    let need = buffer.len() + more;
    let room = need.max((2 * buffer.capacity()).min(limit));
    buffer.reserve_exact(room - buffer.len());
}
