/** The models and assistants of one token, at most. The page that makes tokens reads it, too. */
export const MAX_TOKEN_MODELS = 50
