// The header and the library from C++17: initialisers, linkage, a callback.

#include <gallivant.h>

#include <cstdio>
#include <cstring>
#include <string>

extern "C" {
static int32_t dead(void *user_data, const gallivant_harness_state_record *)
{
    ++*static_cast<int *>(user_data);
    return GALLIVANT_LIVENESS_DEAD;
}
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const std::string directory = argv[1];
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_observation idle = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_writer *writer = nullptr;
    gallivant_harness_state_reader *reader = nullptr;
    gallivant_error *error = nullptr;
    int asked = 0;
    identity.agent = gallivant_str_from("worker");
    identity.harness = gallivant_str_from("claude");
    identity.token = gallivant_str_from("tok");
    identity.pty_session = gallivant_str_from("worker");
    idle.state = GALLIVANT_STATE_IDLE;
    probe.kind = GALLIVANT_PROBE_CALLBACK;
    probe.callback = dead;
    probe.user_data = &asked;
    bool right =
        gallivant_harness_state_writer_open(directory.data(), directory.size(), &identity, nullptr, nullptr, &writer,
                                            &error) == GALLIVANT_OK &&
        gallivant_harness_state_writer_observe(writer, &idle, nullptr, &error) == GALLIVANT_OK &&
        gallivant_harness_state_reader_open(directory.data(), directory.size(), nullptr, &reader, &error) ==
            GALLIVANT_OK &&
        gallivant_harness_state_reader_read(reader, &probe, &derived, &error) == GALLIVANT_OK && asked == 1 &&
        std::strcmp(derived.reason.data, "session-dead") == 0;
    gallivant_harness_state_writer_free(writer);
    gallivant_harness_state_reader_free(reader);
    if (!right)
        std::fprintf(stderr, "%s\n", gallivant_error_message(error));
    gallivant_error_free(error);
    std::printf("%d passed, %d failed\n", right ? 1 : 0, right ? 0 : 1);
    return right ? 0 : 1;
}
