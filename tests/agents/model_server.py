"""A scripted model behind the four APIs that the tested agents speak, on loopback.

It keeps no conversation: the step to play is the number of tool results that a
request carries. Each request is written to a log before it is answered, so the log
shows exactly what the model was given, and when.

Spoken (streaming, server-sent events): OpenAI chat completions (pi), OpenAI
responses (codex), Anthropic messages (claude), Gemini contents (gemini).
"""
import json
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Call:
    """One thing the model does: a tool call, a freeform tool call, or (tool None) the last word.

    argument is a dict (JSON arguments), or a str (the input of a freeform tool, or the text).  namespace: of tools that are offered in one.
    """

    def __init__(self, tool, argument, namespace=None):
        self.tool = tool
        self.argument = argument
        self.namespace = namespace

    @property
    def freeform(self):
        return self.tool is not None and isinstance(self.argument, str)

    @property
    def arguments_json(self):
        return json.dumps(self.argument)


def flatten(content):
    """The text of a message's content: a string, or a list of parts that may nest."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(flatten(part) for part in content)
    if isinstance(content, dict):
        return flatten(content.get("text", content.get("content", "")))
    return ""


# One class per API: `results(body)` gives the text of each tool result in a request, in
# order; `events(call, index)` the answer as (event name or None, JSON object or str) pairs.

class Chat:
    path = "/chat/completions"

    @staticmethod
    def results(body):
        return [flatten(m.get("content")) for m in body["messages"] if m["role"] == "tool"]

    @staticmethod
    def events(call, index):
        def chunk(delta, finish=None):
            return None, {"id": f"chat_{index}", "object": "chat.completion.chunk", "created": 0,
                          "model": "scripted", "choices": [
                              {"index": 0, "delta": delta, "finish_reason": finish}]}
        yield chunk({"role": "assistant", "content": call.argument if call.tool is None else ""})
        if call.tool is not None:
            yield chunk({"tool_calls": [{"index": 0, "id": f"call_{index}", "type": "function",
                                         "function": {"name": call.tool,
                                                      "arguments": call.arguments_json}}]})
        yield chunk({}, "stop" if call.tool is None else "tool_calls")
        yield None, {"id": f"chat_{index}", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [],
                     "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}
        yield None, "[DONE]"


class Responses:
    path = "/responses"

    @staticmethod
    def results(body):
        return [flatten(i.get("output")) for i in body["input"]
                if i.get("type", "").endswith("call_output")]

    @staticmethod
    def events(call, index):
        if call.tool is None:
            item = {"type": "message", "id": f"msg_{index}", "role": "assistant",
                    "content": [{"type": "output_text", "text": call.argument, "annotations": []}]}
        elif call.freeform:
            item = {"type": "custom_tool_call", "id": f"ctc_{index}", "call_id": f"call_{index}",
                    "name": call.tool, "input": call.argument}
        else:
            item = {"type": "function_call", "id": f"fc_{index}", "call_id": f"call_{index}",
                    "name": call.tool, "arguments": call.arguments_json}
            if call.namespace:
                item["namespace"] = call.namespace
        response = {"id": f"resp_{index}", "object": "response", "created_at": 0}
        usage = {"input_tokens": 100, "input_tokens_details": None, "output_tokens": 20,
                 "output_tokens_details": None, "total_tokens": 120}
        for name, fields in (
                ("response.created", {"response": response}),
                ("response.output_item.done", {"output_index": 0, "item": item}),
                ("response.completed", {"response": {**response, "usage": usage}})):
            yield name, {"type": name, **fields}


class Messages:
    path = "/messages"

    @staticmethod
    def results(body):
        return [flatten(part.get("content"))
                for m in body["messages"] if isinstance(m["content"], list)
                for part in m["content"] if part.get("type") == "tool_result"]

    @staticmethod
    def events(call, index):
        if call.tool is None:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": call.argument}
            stop = "end_turn"
        else:
            block = {"type": "tool_use", "id": f"toolu_{index}", "name": call.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": call.arguments_json}
            stop = "tool_use"
        message = {"id": f"msg_{index}", "type": "message", "role": "assistant",
                   "model": "scripted", "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1}}
        for name, fields in (
                ("message_start", {"message": message}),
                ("content_block_start", {"index": 0, "content_block": block}),
                ("content_block_delta", {"index": 0, "delta": delta}),
                ("content_block_stop", {"index": 0}),
                ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None},
                                   "usage": {"output_tokens": 20}}),
                ("message_stop", {})):
            yield name, {"type": name, **fields}


class Contents:
    path = ":streamGenerateContent"

    @staticmethod
    def results(body):
        return [result_text(part["functionResponse"].get("response"))
                for content in body["contents"] for part in content.get("parts", [])
                if "functionResponse" in part]

    @staticmethod
    def events(call, index):
        if call.tool is None:
            part = {"text": call.argument}
        else:
            part = {"functionCall": {"name": call.tool, "args": call.argument},
                    "thoughtSignature": "c2NyaXB0ZWQ="}
        yield None, {
            "candidates": [{"content": {"role": "model", "parts": [part]},
                            "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20,
                              "totalTokenCount": 120},
            "modelVersion": "scripted", "responseId": f"resp_{index}"}


def result_text(response):
    """The text of a functionResponse, an object whose members the agent chooses."""
    if isinstance(response, dict):
        for name in ("output", "error", "content"):
            if name in response:
                return flatten(response[name])
    return json.dumps(response)


APIS = (Chat, Responses, Messages, Contents)


class ModelServer:
    """Plays `script`, a list of (Call, outsider) pairs, or a function of the results so far that returns one, to one agent.

    outsider: None, or a shell command that this process, which is no part of the agent's
    session, runs in `workspace` once, before it answers with that call.  think_s: the model takes so long for each of them.
    """

    def __init__(self, script, workspace, log_path, think_s=0):
        self.script = script
        self.think_s = think_s
        self.workspace = workspace
        self.log_path = log_path
        self._outsiders_done = set()
        self._lock = threading.Lock()
        self._log = open(log_path, "w", encoding="utf-8", buffering=1)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                server._answer(self)

            def do_GET(self):
                server._note(kind="other", method=self.command, path=self.path)
                server._send(self, b"{}", "application/json")

            do_HEAD = do_GET

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()
        with self._lock:
            self._log.close()

    def _note(self, **record):
        with self._lock:
            if not self._log.closed:
                self._log.write(json.dumps({"time": round(time.time(), 3), **record}) + "\n")

    @staticmethod
    def _send(request, data, content_type):
        request.send_response(200)
        request.send_header("content-type", content_type)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(data)

    def next_call(self, _body, results):
        """What is played behind a request: the number of its step, the Call, the outsider."""
        if callable(self.script):
            return len(results), *self.script(results)
        index = min(len(results), len(self.script) - 1)
        return index, *self.script[index]

    def _answer(self, request):
        path = request.path.split("?")[0]
        data = request.rfile.read(int(request.headers.get("content-length") or 0))
        api = next((a for a in APIS if path.endswith(a.path)), None)
        try:
            body = json.loads(data)
        except ValueError:
            api, body = None, repr(data[:200])
        if api is None:
            self._note(kind="other", method="POST", path=path, body=body)
            return self._send(request, b"{}", "application/json")
        if not body.get("tools"):  # a title, a summary: not the conversation
            self._note(kind="aside", path=path, body=body)
            index, call = 0, Call(None, "Scripted task")
        else:
            results = api.results(body)
            index, call, outsider = self.next_call(body, results)
            self._note(kind="turn", step=index, results=results, body=body)
            if outsider:
                self._run_outsider(index, outsider)
            time.sleep(self.think_s)
        stream = "".join(
            (f"event: {name}\n" if name else "")
            + f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
            for name, event in api.events(call, index))
        self._send(request, stream.encode(), "text/event-stream")

    def _run_outsider(self, index, command):
        with self._lock:
            if index in self._outsiders_done:
                return
            self._outsiders_done.add(index)
        done = subprocess.run(["/bin/sh", "-c", command], cwd=self.workspace, timeout=10,
                              capture_output=True, text=True, check=False)
        self._note(kind="outsider", step=index, command=command, status=done.returncode,
                   output=done.stdout + done.stderr)


def results_in_log(log_path):
    """What the model was given: {step: text of its tool result when it first appeared}.

    First appearance, since agents may shorten old results in later requests.
    """
    given = {}
    with open(log_path, encoding="utf-8") as log:
        for line in log:
            record = json.loads(line)
            if record["kind"] == "turn":
                for step, text in enumerate(record["results"]):
                    given.setdefault(step, text)
    return given


def texts_in(value):
    """All texts in a part of a request, a line each."""
    if isinstance(value, str):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(texts_in(part) for part in parts)


def requests_in_log(log_path):
    """The request in which each step's result first appeared: {step: body}."""
    bodies = {}
    with open(log_path, encoding="utf-8") as log:
        for line in log:
            record = json.loads(line)
            if record["kind"] == "turn":
                for step in range(len(record["results"])):
                    bodies.setdefault(step, record["body"])
    return bodies
