/**
 * A plugin for OpenCode that tells what it is seen doing. OpenCode has no hooks that are programs; it loads this module
 * into itself instead. Name it in `opencode.json` by the path of its file, or export it again from a file in
 * `.opencode/plugins`:
 *
 * ```js
 * export { GallivantPlugin } from 'gallivant/opencode'
 * ```
 *
 * The session is the one in OpenCode's environment, as `Session.toEnv()` hands it on.
 */

/** What the plugin registers: nothing where no session is in the environment. */
export interface GallivantHooks {
  /** Observes an event before it returns. Never throws and prints nothing; what it could not do is in the session's log. */
  event?: (input: { event: unknown }) => Promise<void>
}

/**
 * OpenCode's plugin function. It takes none of what OpenCode offers, reads this process's environment once, never
 * rejects and prints nothing.
 */
export function GallivantPlugin(input?: unknown): Promise<GallivantHooks>
