// Belongs in .opencode/plugins/gallivant.js of a project, or in ~/.config/opencode/plugins for all of them.
export { GallivantPlugin } from 'gallivant/opencode'
