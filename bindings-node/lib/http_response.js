'use strict'
/** What is asked of the responses of HTTP/1.1 and of HTTP/2, which do not answer it alike. */

/** Whether a response takes nothing any more. One of HTTP/2 says so by its stream alone. */
function isDestroyed(response) {
  return response.destroyed === true || response.stream?.destroyed === true
}

module.exports = { isDestroyed }
