vcl 4.1;

# Varnish as in varnish.vcl, told to fetch an answer whole before it delivers any of it,
# as configurations for pages and pictures do. An answer that does not forbid it is kept for 120 s, so each stream needs a URL of
# its own.

backend origin {
    .host = "{{upstream_host}}";
    .port = "{{upstream_port}}";
    # A model may think for longer than the stock 60 s.
    .first_byte_timeout = 1h;
    .between_bytes_timeout = 1h;
}

sub vcl_backend_response {
    set beresp.do_stream = false;       # the only difference
}
