"""An upload over QUIC with aioquic, whose client writes a qlog.

quic.py serve PORT [WINDOW]                           reads whatever comes; WINDOW: bytes that it grants ahead of what arrived, always
quic.py send HOST PORT endless|paused SECONDS FOLDER  writes without end, or 4,000 bytes every 50 ms; the qlog goes into FOLDER
"""

import asyncio
import datetime
import ssl
import sys
import tempfile
import time
from pathlib import Path

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicFileLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PROTOCOL = ["upload"]
MAX_DATA, MAX_STREAM_DATA = 0x10, 0x11


def main(words):
    if words[0] == "serve":
        asyncio.run(run_server(int(words[1]), int(words[2]) if len(words) > 2 else None))
    else:
        host, port, kind, seconds, folder = words[1:]
        asyncio.run(send(host, int(port), kind, float(seconds), folder))


async def run_server(port, window):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOL)
    if window is not None:
        configuration.max_data = configuration.max_stream_data = window
        keep_windows(window)
    with tempfile.TemporaryDirectory() as folder:
        configuration.load_cert_chain(*certificate(Path(folder)))
    await serve("0.0.0.0", port, configuration=configuration, stream_handler=lambda reader, _: asyncio.ensure_future(drain(reader)))
    await asyncio.Event().wait()


async def drain(reader):
    while await reader.read(1 << 16):
        pass


def keep_windows(window):
    """aioquic doubles its windows when half of them is used; these stay."""

    def connection_limits(self, builder, space):
        limit = self._local_max_data
        if limit.used + window - limit.value >= window // 4:
            limit.value = limit.used + window
        if limit.value != limit.sent:
            buffer = builder.start_frame(MAX_DATA, 9, self._on_connection_limit_delivery, (limit,))
            buffer.push_uint_var(limit.value)
            limit.sent = limit.value

    def stream_limits(self, builder, space, stream):
        arrived = stream.receiver.highest_offset
        if arrived + window - stream.max_stream_data_local >= window // 4:
            stream.max_stream_data_local = arrived + window
        if stream.max_stream_data_local_sent != stream.max_stream_data_local:
            buffer = builder.start_frame(MAX_STREAM_DATA, 17, self._on_max_stream_data_delivery, (stream,))
            buffer.push_uint_var(stream.stream_id)
            buffer.push_uint_var(stream.max_stream_data_local)
            stream.max_stream_data_local_sent = stream.max_stream_data_local

    QuicConnection._write_connection_limits = connection_limits
    QuicConnection._write_stream_limits = stream_limits


def certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "quic")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day).sign(key, hashes.SHA256())
    form = serialization.Encoding.PEM
    text = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "certificate").write_bytes(made.public_bytes(form))
    (folder / "key").write_bytes(text)
    return folder / "certificate", folder / "key"


async def send(host, port, kind, seconds, folder):
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=PROTOCOL, verify_mode=ssl.CERT_NONE, quic_logger=QuicFileLogger(folder)
    )
    async with connect(host, port, configuration=configuration) as client:
        _, writer = await client.create_stream()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if kind == "paused":
                writer.write(bytes(4_000))
                await asyncio.sleep(0.05)
                continue
            streams = client._quic._streams.values()
            if all(len(stream.sender._buffer) < 1 << 20 for stream in streams):
                writer.write(bytes(1 << 20))
            await asyncio.sleep(0.01)
        # What waits to be sent is of no interest.
        client._quic.close()


if __name__ == "__main__":
    main(sys.argv[1:])
