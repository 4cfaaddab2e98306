"""The four streaming protocols that the harnesses speak: what they ask, in one form, and how they are answered.

Each is written from the provider's public API reference and holds only what the harnesses need.
"""
from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provider import Reply


@dataclass(frozen=True)
class Conversation:
    """What a model call says: the turns in order, `person` with a text or `model`, and the tools on offer."""

    turns: list[tuple[str, str]]
    tools: set[str]


def side_call(path: str) -> dict:
    """The answer to a call that asks no model."""
    return {"input_tokens": 10} if path.endswith("/count_tokens") else {}


def _texts(content: object) -> str:
    """The text of a message, which is a string or a list of typed blocks. A tool's result is none."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content or () if isinstance(block, dict)]
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def _is_tool(reply: Reply) -> bool:
    return hasattr(reply, "input")


class Anthropic:
    """POST /v1/messages."""

    @staticmethod
    def serves(path: str) -> bool:
        return path.endswith("/messages")

    @staticmethod
    def streams(path: str, body: dict) -> bool:
        return bool(body.get("stream"))

    @staticmethod
    def read(body: dict) -> Conversation:
        turns = []
        for message in body.get("messages", []):
            content = message["content"]
            if message["role"] == "assistant":
                # Turns that follow each other directly are sent back as blocks of one message.
                turns += [("model", "")] * (1 if isinstance(content, str) else len(content))
            elif message["role"] == "user":
                turns.append(("person", _texts(content)))
        return Conversation(turns, {tool.get("name") for tool in body.get("tools", [])})

    @staticmethod
    def error(status: int) -> dict:
        kind = "api_error" if status >= 500 else "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": "the fake provider fails"}}

    @staticmethod
    def _block(body: dict, reply: Reply) -> tuple[dict, str]:
        if _is_tool(reply):
            number = len(body.get("messages", []))
            return {"type": "tool_use", "id": f"toolu_{number}", "name": reply.name, "input": reply.input}, "tool_use"
        return {"type": "text", "text": reply.text}, "end_turn"

    @staticmethod
    def _message(body: dict) -> dict:
        # Messages of one id are one message to whoever reads a session again.
        return {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": body.get("model", "fake"),
                "content": [], "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 1}}

    @classmethod
    def whole(cls, body: dict, reply: Reply) -> dict:
        block, stop = cls._block(body, reply)
        return {**cls._message(body), "content": [block], "stop_reason": stop}

    @classmethod
    def stream(cls, body: dict, reply: Reply) -> list:
        block, stop = cls._block(body, reply)
        if _is_tool(reply):
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.input)}
        else:
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
        return [
            {"type": "message_start", "message": cls._message(body)},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
             "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]


class Responses:
    """POST /v1/responses."""

    CALLS = ("function_call", "custom_tool_call", "local_shell_call")

    @staticmethod
    def serves(path: str) -> bool:
        return path.endswith("/responses")

    @staticmethod
    def streams(path: str, body: dict) -> bool:
        return bool(body.get("stream"))

    @classmethod
    def read(cls, body: dict) -> Conversation:
        given = body.get("input", [])
        turns = []
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if item.get("role") == "user":
                turns.append(("person", _texts(item.get("content"))))
            elif item.get("role") == "assistant" or item.get("type") in cls.CALLS:
                turns.append(("model", ""))
        tools = set()
        for tool in body.get("tools", []):
            tools.add(tool.get("name") or tool.get("type"))
            tools.update(inner.get("name") for inner in tool.get("tools", ()))
        return Conversation(turns, tools)

    @staticmethod
    def error(status: int) -> dict:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"type": kind, "code": None, "message": "the fake provider fails"}}

    @staticmethod
    def _item(body: dict, reply: Reply) -> dict:
        number = len(body.get("input", []))
        if not _is_tool(reply):
            return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": reply.name,
                "arguments": json.dumps(reply.input), "status": "completed"}
        return {**call, "namespace": reply.namespace} if reply.namespace else call

    @classmethod
    def whole(cls, body: dict, reply: Reply) -> dict:
        usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
        return {"id": "resp_fake", "object": "response", "status": "completed", "model": body.get("model"),
                "output": [cls._item(body, reply)], "usage": usage}

    @classmethod
    def stream(cls, body: dict, reply: Reply) -> list:
        whole = cls.whole(body, reply)
        item = whole["output"][0]
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        return [
            {"type": "response.created", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]


class Chat:
    """POST /v1/chat/completions."""

    @staticmethod
    def serves(path: str) -> bool:
        return path.endswith("/chat/completions")

    @staticmethod
    def streams(path: str, body: dict) -> bool:
        return bool(body.get("stream"))

    @staticmethod
    def read(body: dict) -> Conversation:
        turns = []
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                turns.append(("model", ""))
            elif message["role"] == "user":
                turns.append(("person", _texts(message["content"])))
        return Conversation(turns, {tool.get("function", {}).get("name") for tool in body.get("tools") or ()})

    error = staticmethod(Responses.error)

    @staticmethod
    def _message(body: dict, reply: Reply) -> tuple[dict, str]:
        if not _is_tool(reply):
            return {"role": "assistant", "content": reply.text}, "stop"
        call = {"index": 0, "id": f"call_{len(body['messages'])}", "type": "function",
                "function": {"name": reply.name, "arguments": json.dumps(reply.input)}}
        return {"role": "assistant", "tool_calls": [call]}, "tool_calls"

    USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

    @classmethod
    def whole(cls, body: dict, reply: Reply) -> dict:
        message, finish = cls._message(body, reply)
        return {"id": "chatcmpl-fake", "object": "chat.completion", "created": 1, "model": body.get("model"),
                "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": cls.USAGE}

    @classmethod
    def stream(cls, body: dict, reply: Reply) -> list:
        message, finish = cls._message(body, reply)
        base = {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
        return [
            json.dumps({**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
            json.dumps({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": cls.USAGE}),
            "[DONE]",
        ]


class Gemini:
    """POST /v1beta/models/MODEL:generateContent and :streamGenerateContent."""

    @staticmethod
    def serves(path: str) -> bool:
        return path.endswith(("enerateContent",))

    @staticmethod
    def streams(path: str, body: dict) -> bool:
        return path.endswith("streamGenerateContent")

    @staticmethod
    def read(body: dict) -> Conversation:
        turns = [
            ("model", "") if content.get("role") == "model" else ("person", _texts(content.get("parts")))
            for content in body.get("contents", [])
        ]
        declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        return Conversation(turns, {one.get("name") for one in declared})

    @staticmethod
    def error(status: int) -> dict:
        kind = "INTERNAL" if status >= 500 else "INVALID_ARGUMENT"
        return {"error": {"code": status, "message": "the fake provider fails", "status": kind}}

    @staticmethod
    def whole(body: dict, reply: Reply) -> dict:
        part = {"functionCall": {"name": reply.name, "args": reply.input}} if _is_tool(reply) else {"text": reply.text}
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
                "modelVersion": "fake"}

    @classmethod
    def stream(cls, body: dict, reply: Reply) -> list:
        return [json.dumps(cls.whole(body, reply))]


ALL = (Anthropic, Responses, Chat, Gemini)
