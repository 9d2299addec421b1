/** Tokens `t`, their owners `u`, and the apps `a` that hold them by links `l`. */
export const tokensWithOwners = `access_tokens t join users u on u.id = t.user_id
          left join ext_app_links l on l.token_id = t.id left join ext_apps a on a.id = l.app_id`

/** Whether a token lets in: not an expired one, nor that of an app whose link is gone or that is switched off. */
export const letsIn = `(t.expires_at is null or t.expires_at > now()) and (t.holder = 'person' or a.active)`

/** The version of what a token's owner was seen as; all else about a token stays as it was made. */
export const ownerVersion = 'u.xmin::text'
