"""The official clients of OpenAI and Anthropic, reading the emitter's answers.

Called with the emitter's (or a proxy's) address. Prints one JSON object: what each client made of
each answer. An exception that nobody asked for ends the program, and is the test's failure.
"""

import json
import sys

import anthropic
import openai

address = sys.argv[1]
results = {}

# No retries: a failed answer is a failed answer.
chat = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=30)
claude = anthropic.Anthropic(base_url=address, api_key="none", max_retries=0, timeout=30)

MESSAGES = [{"role": "user", "content": "What is a token?"}]
SCRIPT = {"holdup": {"reasoning": 2, "interval_ms": 5}}
TOOL = {"holdup": {"steps": "role@0,text*3@5,tool@10,finish@15,end@20"}}
ERROR = {"holdup": {"error_after": 2, "interval_ms": 5}}


def openai_chat():
    text, events, usage = "", 0, None
    stream = chat.chat.completions.create(
        model="m",
        messages=MESSAGES,
        stream=True,
        stream_options={"include_usage": True},
        extra_body=SCRIPT,
    )
    for chunk in stream:
        events += 1
        usage = chunk.usage or usage
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    return {"text": text, "events": events, "tokens": usage.completion_tokens}


def openai_chat_helper():
    with chat.chat.completions.stream(model="m", messages=MESSAGES, extra_body=TOOL) as stream:
        kinds = [event.type for event in stream]
        message = stream.get_final_completion().choices[0].message
    call = message.tool_calls[0].function
    return {"text": message.content, "tool": [call.name, call.arguments], "events": len(kinds)}


def openai_chat_whole():
    answer = chat.chat.completions.create(model="m", messages=MESSAGES, extra_body=SCRIPT)
    return {"text": answer.choices[0].message.content, "tokens": answer.usage.completion_tokens}


def openai_responses():
    text, events, tokens = "", 0, None
    stream = chat.responses.create(model="m", input="?", stream=True, extra_body=SCRIPT)
    for event in stream:
        events += 1
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.completed":
            tokens = event.response.usage.output_tokens
    return {"text": text, "events": events, "tokens": tokens}


def openai_responses_helper():
    with chat.responses.stream(model="m", input="?", extra_body=SCRIPT) as stream:
        events = sum(1 for _ in stream)
        answer = stream.get_final_response()
    return {"text": answer.output_text, "events": events, "tokens": answer.usage.output_tokens}


def openai_responses_tool():
    with chat.responses.stream(model="m", input="?", extra_body=TOOL) as stream:
        for _ in stream:
            pass
        message, call = stream.get_final_response().output
    return {"text": message.content[0].text, "tool": [call.name, call.arguments]}


def openai_responses_whole():
    answer = chat.responses.create(model="m", input="?", extra_body=SCRIPT)
    return {"text": answer.output_text, "tokens": answer.usage.output_tokens}


def anthropic_raw():
    text, events, tokens = "", 0, None
    stream = claude.messages.create(
        model="m", max_tokens=99, messages=MESSAGES, stream=True, extra_body=SCRIPT
    )
    for event in stream:
        events += 1
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
        if event.type == "message_delta":
            tokens = event.usage.output_tokens
    return {"text": text, "events": events, "tokens": tokens}


def anthropic_helper():
    with claude.messages.stream(
        model="m", max_tokens=99, messages=MESSAGES, extra_body=SCRIPT
    ) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    kinds = [block.type for block in message.content]
    return {"text": text, "blocks": kinds, "tokens": message.usage.output_tokens}


def anthropic_tool():
    with claude.messages.stream(
        model="m", max_tokens=99, messages=MESSAGES, extra_body=TOOL
    ) as stream:
        message = stream.get_final_message()
    text, call = message.content
    return {"text": text.text, "tool": [call.name, json.dumps(call.input)]}


def anthropic_whole():
    answer = claude.messages.create(
        model="m", max_tokens=99, messages=MESSAGES, extra_body=SCRIPT
    )
    return {"text": answer.content[-1].text, "tokens": answer.usage.output_tokens}


def failing(read, error):
    """An answer that is to fail: the client's own exception, and nothing else."""
    try:
        read()
    except error as raised:
        return {"raised": type(raised).__name__, "message": str(raised)}
    return {"raised": None}


def read_all(stream):
    for _ in stream:
        pass


for case in (
    openai_chat,
    openai_chat_helper,
    openai_chat_whole,
    openai_responses,
    openai_responses_helper,
    openai_responses_tool,
    openai_responses_whole,
    anthropic_raw,
    anthropic_helper,
    anthropic_tool,
    anthropic_whole,
):
    results[case.__name__] = case()

results["openai_error"] = failing(
    lambda: read_all(
        chat.chat.completions.create(model="m", messages=MESSAGES, stream=True, extra_body=ERROR)
    ),
    openai.APIError,
)
results["anthropic_error"] = failing(
    lambda: read_all(
        claude.messages.create(
            model="m", max_tokens=99, messages=MESSAGES, stream=True, extra_body=ERROR
        )
    ),
    anthropic.APIStatusError,
)
results["openai_refused"] = failing(
    lambda: chat.chat.completions.create(
        model="m", messages=MESSAGES, extra_body={"holdup": {"status": 429}}
    ),
    openai.RateLimitError,
)
results["anthropic_refused"] = failing(
    lambda: claude.messages.create(
        model="m", max_tokens=99, messages=MESSAGES, extra_body={"holdup": {"status": 529}}
    ),
    anthropic.APIStatusError,
)
results["versions"] = {"openai": openai.__version__, "anthropic": anthropic.__version__}
print(json.dumps(results))
