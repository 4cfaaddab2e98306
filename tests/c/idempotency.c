/* Idempotent creates: what a begin answers, clause by clause. */

#include "check.h"

#include <stdio.h>

static const uint64_t now = 2000000000000;
static const uint64_t minute = 60000;

/* Options with this host and nothing else. */
static gallivant_idempotency_store_options on_host(const gallivant_host *host)
{
    gallivant_idempotency_store_options options = GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT;
    options.host = host;
    return options;
}

/* A host whose clock stands, and whose machine has this name. */
static gallivant_host *machine(const char *name, const char *boot)
{
    gallivant_testing_host_options options = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_host *host = NULL;
    options.wall_ms.is_set = 1;
    options.wall_ms.value = now;
    options.machine = VIEW(name);
    options.boot = VIEW(boot);
    CHECK_OK(gallivant_testing_host_new(&options, &host, &error));
    CHECK_OK(gallivant_testing_host_stand_at(host, now, 0, &error));
    return host;
}

static void ik_01_a_repeat_gets_resource_and_answer_byte_for_byte(void)
{
    gallivant_host *host = host_at(now);
    gallivant_idempotency_store_options options = on_host(host);
    gallivant_idempotency_store *store = claims_in(fresh_directory(), &options);
    gallivant_idempotency_begun first = begun_with(store, "k", "{}"), again;
    CHECK(first.struct_size == sizeof first && first.begin == GALLIVANT_BEGIN_CREATE && first.how == GALLIVANT_HOW_FRESH);
    CHECK(first.reservation != NULL && first.claim == NULL && first.ticket == NULL && first.unknown == NULL);
    CHECK_OK(gallivant_idempotency_reservation_complete(first.reservation, TEXT("r-\xc3\xa4"), "a\0\xff", 3,
                                                        GALLIVANT_DEFAULT, &error));
    free_begun(first);
    again = begun_with(store, "k", "{}");
    CHECK(again.begin == GALLIVANT_BEGIN_REPLAY && again.how == GALLIVANT_HOW_REPLAYED);
    CHECK(again.reservation == NULL && again.claim != NULL && again.ticket == NULL && again.unknown == NULL);
    CHECK_VIEW(gallivant_idempotency_claim_resource(again.claim), "r-\xc3\xa4");
    gallivant_bytes answer = gallivant_idempotency_claim_answer(again.claim);
    CHECK(answer.length == 3 && memcmp(answer.data, "a\0\xff", 3) == 0);
    CHECK(gallivant_idempotency_claim_completed_ms(again.claim) == now);
    free_begun(again);

    /* The empty answer is one; it and the empty body may come in as NULL. */
    gallivant_idempotency_name name = named("empty");
    CHECK_OK(gallivant_idempotency_store_begin(store, &name, NULL, 0, GALLIVANT_DEFAULT, &first, &error));
    CHECK_OK(gallivant_idempotency_reservation_complete(first.reservation, TEXT("r"), NULL, 0, GALLIVANT_DEFAULT, &error));
    free_begun(first);
    again = begun_with(store, "empty", "");
    answer = gallivant_idempotency_claim_answer(again.claim);
    CHECK(answer.data != NULL && answer.length == 0);
    free_begun(again);
    gallivant_idempotency_store_free(store);
    gallivant_host_free(host);
}

static void ik_02_another_body_is_refused_and_leaves_the_output_alone(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun first = begun_with(store, "k", "one"), other = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = named("k");
    other.how = 77;
    for (int finished = 0; finished < 2; finished++) {
        CHECK_FAILS(GALLIVANT_IDEMPOTENCY_KEY_REUSED, NULL,
                    gallivant_idempotency_store_begin(store, &name, TEXT("two"), GALLIVANT_DEFAULT, &other, &error));
        CHECK(other.how == 77 && other.begin == 0 && other.claim == NULL);
        if (!finished)
            completed(first, "r");
    }
    gallivant_idempotency_store_free(store);
}

static void ik_03_a_body_in_parts_has_the_fingerprint_of_the_whole(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_fingerprint *fingerprint = NULL;
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = named("k");
    uint8_t early[GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES], whole[GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES];
    /* SHA-256 of `{"a":1}`, as sha256sum prints it. */
    const uint8_t known[] = { 0x01, 0x5a, 0xbd, 0x7f, 0x5c, 0xc5, 0x7a, 0x2d, 0xd9, 0x4b, 0x75, 0x90, 0xf0, 0x4a, 0xd8, 0x08,
                              0x42, 0x73, 0x90, 0x5e, 0xe3, 0x3e, 0xc5, 0xce, 0xbe, 0xae, 0x62, 0x27, 0x6a, 0x97, 0xf8, 0x62 };
    completed(begun_with(store, "k", "{\"a\":1}"), "r");
    CHECK_OK(gallivant_idempotency_fingerprint_new(&fingerprint, &error));
    CHECK_OK(gallivant_idempotency_fingerprint_update(fingerprint, "{\"a", 3, &error));
    CHECK_OK(gallivant_idempotency_fingerprint_update(fingerprint, NULL, 0, &error));
    CHECK_OK(gallivant_idempotency_fingerprint_bytes(fingerprint, early, &error));
    CHECK_OK(gallivant_idempotency_fingerprint_update(fingerprint, "\":1}", 4, &error));
    CHECK_OK(gallivant_idempotency_fingerprint_bytes(fingerprint, whole, &error));
    gallivant_idempotency_fingerprint_free(fingerprint);
    CHECK(sizeof known == sizeof whole && memcmp(known, whole, sizeof whole) == 0);
    CHECK_OK(gallivant_idempotency_store_begin_fingerprinted(store, &name, whole, GALLIVANT_DEFAULT, &begun, &error));
    CHECK(begun.begin == GALLIVANT_BEGIN_REPLAY);
    free_begun(begun);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_KEY_REUSED, NULL,
                gallivant_idempotency_store_begin_fingerprinted(store, &name, early, GALLIVANT_DEFAULT, &begun, &error));
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_KEY_REUSED, NULL,
                gallivant_idempotency_store_begin(store, &name, TEXT("{ \"a\": 1 }"), GALLIVANT_DEFAULT, &begun, &error));
    gallivant_idempotency_store_free(store);
}

static void ik_05_releasing_and_freeing_let_any_body_proceed(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun begun = begun_with(store, "k", "one");
    CHECK_OK(gallivant_idempotency_reservation_release(begun.reservation, GALLIVANT_DEFAULT, &error));
    /* It has ended by itself: releasing it again does nothing, and completing it is no loss. */
    gallivant_idempotency_begun second = begun_with(store, "k", "two");
    CHECK(second.begin == GALLIVANT_BEGIN_CREATE && second.how == GALLIVANT_HOW_FRESH);
    CHECK_OK(gallivant_idempotency_reservation_release(begun.reservation, GALLIVANT_DEFAULT, &error));
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_CLAIM_LOST, "ended",
                gallivant_idempotency_reservation_keep_alive(begun.reservation, GALLIVANT_DEFAULT, &error));
    free_begun(begun);
    free_begun(second);
    begun = begun_with(store, "k", "three");
    CHECK(begun.begin == GALLIVANT_BEGIN_CREATE);
    CHECK_OK(gallivant_idempotency_reservation_effect_starting(begun.reservation, GALLIVANT_DEFAULT, &error));
    CHECK_OK(gallivant_idempotency_reservation_release(begun.reservation, GALLIVANT_DEFAULT, &error));
    free_begun(begun);
    begun = begun_with(store, "k", "four");
    CHECK(begun.begin == GALLIVANT_BEGIN_CREATE);
    free_begun(begun);
    gallivant_idempotency_store_free(store);
}

static void ik_05_after_the_mark_nothing_but_settling_tells(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun begun = begun_with(store, "k", "one"), settled = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    CHECK_OK(gallivant_idempotency_reservation_effect_starting(begun.reservation, GALLIVANT_DEFAULT, &error));
    free_begun(begun);
    begun = begun_with(store, "k", "one");
    CHECK(begun.begin == GALLIVANT_BEGIN_UNKNOWN && begun.unknown != NULL && begun.reservation == NULL);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_INPUT, "resource",
                gallivant_idempotency_unknown_claim_settle_found(begun.unknown, TEXT(""), GALLIVANT_DEFAULT, &settled,
                                                                 &error));
    CHECK_OK(gallivant_idempotency_unknown_claim_settle_absent(begun.unknown, GALLIVANT_DEFAULT, &settled, &error));
    CHECK(settled.begin == GALLIVANT_BEGIN_CREATE && settled.how == GALLIVANT_HOW_SETTLED);
    free_begun(begun);
    CHECK_OK(gallivant_idempotency_reservation_effect_starting(settled.reservation, GALLIVANT_DEFAULT, &error));
    free_begun(settled);
    begun = begun_with(store, "k", "one");
    CHECK_OK(gallivant_idempotency_unknown_claim_settle_found(begun.unknown, TEXT("found"), GALLIVANT_DEFAULT, &settled,
                                                              &error));
    free_begun(begun);
    CHECK(settled.begin == GALLIVANT_BEGIN_REPLAY && settled.how == GALLIVANT_HOW_SETTLED);
    CHECK_VIEW(gallivant_idempotency_claim_resource(settled.claim), "found");
    CHECK(gallivant_idempotency_claim_answer(settled.claim).data == NULL);
    free_begun(settled);
    gallivant_idempotency_store_free(store);
}

static void ik_07_scopes_and_operations_are_apart(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun begun[4];
    gallivant_str ab[] = { VIEW("a"), VIEW("b") }, joined[] = { VIEW("ab") }, slash[] = { VIEW("a/b") };
    gallivant_idempotency_name name = named("k");
    const gallivant_str *const scopes[] = { ab, joined, slash, ab };
    for (size_t i = 0; i < 4; i++) {
        gallivant_idempotency_begun fresh = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
        begun[i] = fresh;
        name.scope = scopes[i];
        name.scope_count = scopes[i] == ab ? 2 : 1;
        name.operation = i < 3 ? VIEW("things.create") : VIEW("others.create");
        CHECK_OK(gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun[i], &error));
        CHECK(begun[i].begin == GALLIVANT_BEGIN_CREATE);
    }
    for (size_t i = 0; i < 4; i++)
        free_begun(begun[i]);
    gallivant_idempotency_store_free(store);
}

static void ik_08_a_deleted_resource_is_made_again_once(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun again = GALLIVANT_IDEMPOTENCY_BEGUN_INIT, late = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    int32_t stands = 77;
    completed(begun_with(store, "k", "{}"), "r-1");
    gallivant_idempotency_begun one = begun_with(store, "k", "{}"), two = begun_with(store, "k", "{}");
    CHECK_OK(gallivant_idempotency_claim_still_stands(one.claim, &stands, &error));
    CHECK(stands == 1);
    CHECK_OK(gallivant_idempotency_claim_recreate(one.claim, GALLIVANT_DEFAULT, &again, &error));
    CHECK(again.begin == GALLIVANT_BEGIN_CREATE && again.how == GALLIVANT_HOW_RECREATED);
    CHECK_OK(gallivant_idempotency_claim_still_stands(two.claim, &stands, &error));
    CHECK(stands == 0);
    CHECK_OK(gallivant_idempotency_claim_recreate(two.claim, GALLIVANT_DEFAULT, &late, &error));
    CHECK(late.begin == GALLIVANT_BEGIN_IN_PROGRESS);
    free_begun(late);
    completed(again, "r-2");
    CHECK_OK(gallivant_idempotency_claim_recreate(two.claim, GALLIVANT_DEFAULT, &late, &error));
    CHECK(late.begin == GALLIVANT_BEGIN_REPLAY);
    CHECK_VIEW(gallivant_idempotency_claim_resource(late.claim), "r-2");
    free_begun(late);
    free_begun(one);
    free_begun(two);
    gallivant_idempotency_store_free(store);
}

static void ik_09_an_owner_on_another_machine_has_two_minutes_from_its_last_refresh(void)
{
    const char *directory = fresh_directory();
    gallivant_host *here = machine("here", "boot-1"), *there = machine("there", "boot-2");
    gallivant_idempotency_store_options options = on_host(here);
    gallivant_idempotency_store *own = claims_in(directory, &options);
    options.host = there;
    gallivant_idempotency_store *other = claims_in(directory, &options);
    gallivant_idempotency_begun owner = begun_with(own, "k", "{}"), taker;
    CHECK_OK(gallivant_testing_host_stand_at(here, now + minute, 0, &error));
    CHECK_OK(gallivant_idempotency_reservation_keep_alive(owner.reservation, GALLIVANT_DEFAULT, &error));
    CHECK_OK(gallivant_testing_host_stand_at(there, now + 3 * minute - 1, 0, &error));
    taker = begun_with(other, "k", "{}");
    CHECK(taker.begin == GALLIVANT_BEGIN_IN_PROGRESS);
    free_begun(taker);
    CHECK_OK(gallivant_testing_host_stand_at(there, now + 3 * minute, 0, &error));
    taker = begun_with(other, "k", "{}");
    CHECK(taker.begin == GALLIVANT_BEGIN_CREATE && taker.how == GALLIVANT_HOW_TAKEN_OVER);

    /* IK-10: the loser learns it, and what the winner made once there is something. */
    gallivant_error *lost = NULL;
    CHECK(gallivant_idempotency_reservation_complete(owner.reservation, TEXT("loser"), TEXT("x"), GALLIVANT_DEFAULT, &lost) ==
          GALLIVANT_IDEMPOTENCY_CLAIM_LOST);
    CHECK_VIEW(gallivant_error_resource(lost), NULL);
    gallivant_error_free(lost);
    completed(taker, "winner");
    CHECK(gallivant_idempotency_reservation_complete(owner.reservation, TEXT("loser"), TEXT("x"), GALLIVANT_DEFAULT, &lost) ==
          GALLIVANT_IDEMPOTENCY_CLAIM_LOST);
    CHECK_VIEW(gallivant_error_resource(lost), "winner");
    CHECK_TEXT(gallivant_error_file(lost), NULL);
    gallivant_error_free(lost);
    CHECK_VIEW(gallivant_error_resource(NULL), NULL);
    free_begun(owner);
    gallivant_idempotency_store_free(own);
    gallivant_idempotency_store_free(other);
    gallivant_host_free(here);
    gallivant_host_free(there);
}

static void ik_09_after_a_sleep_every_owner_has_a_window_of_grace(void)
{
    const char *directory = fresh_directory();
    gallivant_host *here = machine("here", "boot-1"), *there = machine("there", "boot-2");
    gallivant_idempotency_store_options options = on_host(here);
    gallivant_idempotency_store *own = claims_in(directory, &options);
    options.host = there;
    gallivant_idempotency_store *other = claims_in(directory, &options);
    gallivant_idempotency_begun owner = begun_with(own, "k", "{}"), taker;
    CHECK_OK(gallivant_testing_host_stand_at(there, now + 10 * minute, 9 * minute, &error));
    gallivant_idempotency_store_notice_sleep(other);
    taker = begun_with(other, "k", "{}");
    CHECK(taker.begin == GALLIVANT_BEGIN_IN_PROGRESS);
    free_begun(taker);
    CHECK_OK(gallivant_testing_host_stand_at(there, now + 12 * minute, 9 * minute, &error));
    taker = begun_with(other, "k", "{}");
    CHECK(taker.begin == GALLIVANT_BEGIN_CREATE && taker.how == GALLIVANT_HOW_TAKEN_OVER);
    free_begun(taker);
    free_begun(owner);
    gallivant_idempotency_store_free(own);
    gallivant_idempotency_store_free(other);
    gallivant_host_free(here);
    gallivant_host_free(there);
}

static void ik_11_and_18_a_claim_lives_its_window_and_is_swept_then(void)
{
    gallivant_host *host = host_at(now);
    gallivant_idempotency_store_options options = on_host(host);
    gallivant_idempotency_swept swept = GALLIVANT_IDEMPOTENCY_SWEPT_INIT;
    options.window_ms = minute;
    gallivant_idempotency_store *store = claims_in(fresh_directory(), &options);
    completed(begun_with(store, "k", "{}"), "r");
    completed(begun_with(store, "l", "{}"), "r");
    gallivant_idempotency_begun held = begun_with(store, "held", "{}"), begun;
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, now + minute - 1, &error));
    CHECK_OK(gallivant_idempotency_store_sweep(store, &swept, &error));
    CHECK(swept.struct_size == sizeof swept && swept.removed == 0 && swept.has_more == 0);
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, now + minute, &error));
    begun = begun_with(store, "k", "other");
    CHECK(begun.begin == GALLIVANT_BEGIN_CREATE && begun.how == GALLIVANT_HOW_EXPIRED);
    free_begun(begun);
    CHECK_OK(gallivant_idempotency_store_sweep(store, &swept, &error));
    CHECK(swept.removed == 1 && swept.has_more == 0);
    CHECK_OK(gallivant_idempotency_store_sweep(store, NULL, &error));
    completed(held, "r");
    gallivant_idempotency_store_free(store);
    gallivant_host_free(host);
}

static void ik_12_and_15_what_is_no_store_is_refused_with_its_file(void)
{
    const char *directory = fresh_directory();
    gallivant_idempotency_store *store = NULL;
    gallivant_error *refused = NULL;
    const char *absent = path_in(directory, "absent/idempotency.db");
    CHECK(gallivant_idempotency_store_open(TEXT(absent), NULL, &store, &refused) == GALLIVANT_IDEMPOTENCY_STORE_UNAVAILABLE);
    CHECK_TEXT(gallivant_error_file(refused), absent);
    CHECK_VIEW(gallivant_error_resource(refused), NULL);
    gallivant_error_free(refused);
    write_file(directory, "garbage.db", "");
    const char *garbage = path_in(directory, "garbage.db");
    CHECK(gallivant_idempotency_store_open(TEXT(garbage), NULL, &store, &refused) == GALLIVANT_IDEMPOTENCY_STORE_CORRUPT);
    CHECK_TEXT(gallivant_error_file(refused), garbage);
    CHECK(strlen(gallivant_error_remedy(refused)) > 0 && store == NULL);
    gallivant_error_free(refused);
    CHECK_TEXT(content_of(directory, "garbage.db"), "");
    CHECK_TEXT(gallivant_error_file(NULL), NULL);
    store = claims_in(directory, NULL);
    CHECK_OK(gallivant_idempotency_store_capability(store, &error));
    remove(path_in(directory, "idempotency.db"));
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_STORE_UNAVAILABLE, NULL, gallivant_idempotency_store_capability(store, &error));
    gallivant_idempotency_store_free(store);
}

static void ik_13_what_is_no_key_and_no_scope(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_str empty[] = { VIEW("org"), VIEW("") }, bad[] = { VIEW(BAD) };
    const char *const keys[] = { "", "a b", "\xc3\xa4", BAD };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        gallivant_idempotency_name name = named(keys[i]);
        CHECK_FAILS(GALLIVANT_IDEMPOTENCY_KEY_INVALID, NULL,
                    gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun, &error));
    }
    gallivant_idempotency_name name = named("k");
    name.scope = empty;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_SCOPE_INVALID, "scope",
                gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun, &error));
    name.scope = bad;
    name.scope_count = 1;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_SCOPE_INVALID, "scope",
                gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun, &error));
    name.scope = NULL;
    name.scope_count = 0;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_SCOPE_INVALID, "scope",
                gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun, &error));
    name = named("k");
    name.operation = VIEW(BAD);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_SCOPE_INVALID, "operation",
                gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun, &error));
    CHECK(begun.begin == 0);
    gallivant_idempotency_store_free(store);
}

static void ik_14_an_answer_above_the_limit_leaves_the_reservation_held(void)
{
    gallivant_idempotency_store_options options = GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT;
    options.max_answer_bytes = 3;
    gallivant_idempotency_store *store = claims_in(fresh_directory(), &options);
    gallivant_idempotency_begun begun = begun_with(store, "k", "{}");
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_ANSWER_TOO_LARGE, NULL,
                gallivant_idempotency_reservation_complete(begun.reservation, TEXT("r"), TEXT("four"), GALLIVANT_DEFAULT,
                                                           &error));
    CHECK_OK(gallivant_idempotency_reservation_complete(begun.reservation, TEXT("r"), TEXT("one"), GALLIVANT_DEFAULT, &error));
    free_begun(begun);
    gallivant_idempotency_store_free(store);
}

static void inspecting_shows_what_stands(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_inspection *found = NULL;
    gallivant_idempotency_name name = named("k");
    CHECK_OK(gallivant_idempotency_store_inspect(store, &name, &found, &error));
    CHECK(found == NULL && gallivant_idempotency_inspection_state(NULL) == 0);
    gallivant_idempotency_begun begun = begun_with(store, "k", "{}");
    CHECK_OK(gallivant_idempotency_store_inspect(store, &name, &found, &error));
    CHECK(gallivant_idempotency_inspection_state(found) == GALLIVANT_CLAIM_STATE_RESERVED);
    CHECK_VIEW(gallivant_idempotency_inspection_resource(found), NULL);
    CHECK(gallivant_idempotency_inspection_answer(found).data == NULL);
    gallivant_idempotency_inspection_free(found);
    CHECK_OK(gallivant_idempotency_reservation_effect_starting(begun.reservation, GALLIVANT_DEFAULT, &error));
    CHECK_OK(gallivant_idempotency_store_inspect(store, &name, &found, &error));
    CHECK(gallivant_idempotency_inspection_state(found) == GALLIVANT_CLAIM_STATE_MARKED);
    gallivant_idempotency_inspection_free(found);
    completed(begun, "r-1");
    CHECK_OK(gallivant_idempotency_store_inspect(store, &name, &found, &error));
    gallivant_idempotency_store_free(store);
    CHECK(gallivant_idempotency_inspection_state(found) == GALLIVANT_CLAIM_STATE_FINISHED);
    CHECK_VIEW(gallivant_idempotency_inspection_resource(found), "r-1");
    gallivant_bytes answer = gallivant_idempotency_inspection_answer(found);
    CHECK(answer.length == 4 && memcmp(answer.data, "made", 4) == 0);
    gallivant_idempotency_inspection_free(found);
    gallivant_idempotency_inspection_free(NULL);
}

static void options_out_of_range_are_named(void)
{
    const char *path = path_in(fresh_directory(), "idempotency.db");
    gallivant_idempotency_store_options options = GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT;
    gallivant_idempotency_store *store = NULL;
    options.window_ms = minute - 1;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_INPUT, "window", gallivant_idempotency_store_open(TEXT(path), &options, &store, &error));
    options.window_ms = GALLIVANT_DEFAULT;
    options.max_reservation_ms = 0;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_INPUT, "max_reservation",
                gallivant_idempotency_store_open(TEXT(path), &options, &store, &error));
    options.max_reservation_ms = minute;
    options.max_answer_bytes = (uint64_t)1 << 40;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_INPUT, "max_answer_bytes",
                gallivant_idempotency_store_open(TEXT(path), &options, &store, &error));
    CHECK(store == NULL);
    CHECK_TEXT(gallivant_begin_name(GALLIVANT_BEGIN_IN_PROGRESS), "in_progress");
    CHECK_TEXT(gallivant_how_name(GALLIVANT_HOW_TAKEN_OVER), "taken-over");
    CHECK_TEXT(gallivant_claim_state_name(0), "invalid");
}

void suite_idempotency(void)
{
    RUN(ik_01_a_repeat_gets_resource_and_answer_byte_for_byte);
    RUN(ik_02_another_body_is_refused_and_leaves_the_output_alone);
    RUN(ik_03_a_body_in_parts_has_the_fingerprint_of_the_whole);
    RUN(ik_05_releasing_and_freeing_let_any_body_proceed);
    RUN(ik_05_after_the_mark_nothing_but_settling_tells);
    RUN(ik_07_scopes_and_operations_are_apart);
    RUN(ik_08_a_deleted_resource_is_made_again_once);
    RUN(ik_09_an_owner_on_another_machine_has_two_minutes_from_its_last_refresh);
    RUN(ik_09_after_a_sleep_every_owner_has_a_window_of_grace);
    RUN(ik_11_and_18_a_claim_lives_its_window_and_is_swept_then);
    RUN(ik_12_and_15_what_is_no_store_is_refused_with_its_file);
    RUN(ik_13_what_is_no_key_and_no_scope);
    RUN(ik_14_an_answer_above_the_limit_leaves_the_reservation_held);
    RUN(inspecting_shows_what_stands);
    RUN(options_out_of_range_are_named);
}
