vcl 4.1;

# Varnish in front of a token stream, as it comes: a backend, and the built-in rules for
# all else. Those fetch an answer and deliver it at the same time (`do_stream`); none is
# piped. An answer that does not forbid it is kept for 120 s, so each stream needs a URL of
# its own.

backend origin {
    .host = "{{upstream_host}}";
    .port = "{{upstream_port}}";
    # A model may think for longer than the stock 60 s.
    .first_byte_timeout = 1h;
    .between_bytes_timeout = 1h;
}
