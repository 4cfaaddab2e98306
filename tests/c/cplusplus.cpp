// The header and the library from C++17: initialisers, linkage, callbacks.

#include <gallivant.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

extern "C" {
static int32_t dead(void *user_data, const gallivant_harness_state_record *)
{
    ++*static_cast<int *>(user_data);
    return GALLIVANT_LIVENESS_DEAD;
}

static void count_gap(void *user_data, const gallivant_journal_gap *gap)
{
    *static_cast<std::uint64_t *>(user_data) += gap->to - gap->from + 1;
}
}

// A journal with a gap, its check by a callback, and its rows as frames.
static bool journals(const std::string &directory, gallivant_error **error)
{
    const std::string page = R"([{"id":"g","provenance":"boundary","reason":"provider-gap"}])";
    gallivant_journal_owner owner = GALLIVANT_JOURNAL_OWNER_INIT;
    gallivant_journal_appended appended = GALLIVANT_JOURNAL_APPENDED_INIT;
    gallivant_journal_checked checked = GALLIVANT_JOURNAL_CHECKED_INIT;
    gallivant_frame frame = GALLIVANT_FRAME_INIT;
    gallivant_redactor *redactor = nullptr;
    gallivant_journal *journal = nullptr;
    gallivant_projection *projection = nullptr;
    gallivant_replay *replay = nullptr;
    std::uint64_t gaps = 0;
    std::string buffer(GALLIVANT_REPLAY_FRAME_CAPACITY, '\0');
    std::size_t needed = 0;
    owner.task_id = owner.run_id = owner.provider = gallivant_str_from("x");
    const bool right =
        gallivant_redactor_new(nullptr, 0, &redactor, error) == GALLIVANT_OK &&
        gallivant_journal_open(directory.data(), directory.size(), &owner, redactor, nullptr, &journal, error) ==
            GALLIVANT_OK &&
        gallivant_journal_append(journal, page.data(), page.size(), nullptr, 0, &appended, error) == GALLIVANT_OK &&
        gallivant_journal_check(directory.data(), directory.size(), nullptr, count_gap, &gaps, &checked, error) ==
            GALLIVANT_OK &&
        appended.recorded == 1 && gaps == 1 && checked.end.sequence == 1 &&
        gallivant_projection_open(directory.data(), directory.size(), nullptr, &projection, error) == GALLIVANT_OK &&
        gallivant_projection_catch_up(projection, nullptr, error) == GALLIVANT_OK &&
        gallivant_replay_open(directory.data(), directory.size(), nullptr, 0, nullptr, &replay, error) == GALLIVANT_OK &&
        gallivant_replay_poll(replay, &frame, &buffer[0], buffer.size(), &needed, error) == GALLIVANT_OK &&
        frame.event == GALLIVANT_FRAME_GAP && std::strcmp(frame.data.data, R"({"id":"1","kind":"gap"})") == 0;
    gallivant_replay_free(replay);
    gallivant_projection_free(projection);
    gallivant_journal_free(journal);
    gallivant_redactor_free(redactor);
    return right;
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
        std::strcmp(derived.reason.data, "session-dead") == 0 && journals(directory, &error);
    gallivant_harness_state_writer_free(writer);
    gallivant_harness_state_reader_free(reader);
    if (!right)
        std::fprintf(stderr, "%s\n", gallivant_error_message(error));
    gallivant_error_free(error);
    std::printf("%d passed, %d failed\n", right ? 1 : 0, right ? 0 : 1);
    return right ? 0 : 1;
}
