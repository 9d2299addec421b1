const MAX_NAME = 80

/** Returns the name of a program as a page may show it: one line, without invisible characters, at most 80 characters. */
export const toClientName = (name = ''): string =>
  [
    ...name
      .replace(/[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]/gu, '')
      .replace(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, MAX_NAME)
    .join('')
    .trim()
