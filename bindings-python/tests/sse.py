"""What a browser makes of a stream of server-sent events, by the format's own rules. It is fed pieces in any cutting."""

from __future__ import annotations

import codecs
import json


class Browser:
    """The events that were dispatched, each as (last event id, event, data), and the comments that were seen."""

    def __init__(self, last_event_id=""):
        self.events = []
        self.comments = []
        self.last_event_id = last_event_id
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._event, self._data, self._id = "", [], last_event_id

    def feed(self, piece):
        self._text += self._decoder.decode(piece)
        while True:
            ends = [at for at in (self._text.find("\r"), self._text.find("\n")) if at >= 0]
            # A CR at the end may be the first half of a CRLF.
            if not ends or (self._text[min(ends)] == "\r" and min(ends) + 1 == len(self._text)):
                return
            line, rest = self._text[: min(ends)], self._text[min(ends) :]
            self._text = rest[2:] if rest.startswith("\r\n") else rest[1:]
            self._line(line)

    def _line(self, line):
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if line == "":
            self.last_event_id = self._id
            if self._data:
                self.events.append((self.last_event_id, self._event or "message", "\n".join(self._data)))
            self._event, self._data = "", []
        elif name == "":
            self.comments.append(value)
        elif name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value

    @property
    def texts(self):
        """What the lines show."""
        return [json.loads(data)["text"] for _, event, data in self.events if event == "line"]

    @property
    def gaps(self):
        """The reasons of the gaps."""
        return [json.loads(data).get("reason") for _, event, data in self.events if event == "gap"]
