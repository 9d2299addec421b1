/** The word by which front ends know this service: in addresses, cookies, ids and titles. It stands here and nowhere else. */
export const brand = 'svc'
