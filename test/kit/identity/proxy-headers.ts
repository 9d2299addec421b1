/** Settings of the headers by which a reverse proxy says whom it has signed in. */
export const proxyHeaders = {
  PROXY_USERNAME_HEADER: 'x-user',
  PROXY_EMAIL_HEADER: 'x-email',
  PROXY_NAME_HEADER: 'x-name',
}
