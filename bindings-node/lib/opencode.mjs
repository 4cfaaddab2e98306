/** The plugin for OpenCode as OpenCode loads it: one export. See `opencode.d.ts`. */

import plugin from './opencode.js'

export const { GallivantPlugin } = plugin
