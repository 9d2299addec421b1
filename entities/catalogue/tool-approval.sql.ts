/** SQL: a text that changes with the approved definition, and with the address where its calls go. */
export const approvalVersion = (t: string, s: string) => `md5(${t}.approved::text || ${s}.url)`

/** SQL: a tool, or what programs get of its server beside tools. */
export const isTakenKind = (t: string, s: string) => `(${t}.kind = 'tool'
    or case ${t}.kind when 'prompt' then 'prompts' else 'resources' end = any(${s}.offers))`

/** SQL: the definition is as it was approved. Members that an approval did not know yet are not compared. */
export const isAsApproved = (t: string) => `coalesce(${t}.approved = case when jsonb_exists(${t}.approved, 'title')
    then ${t}.mcp_config else ${t}.mcp_config - '{title,outputSchema,annotations}'::text[] end, false)`
