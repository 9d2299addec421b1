import Echo from 'laravel-echo'
import module from 'pusher-js'

/** The connection details of the `transfer` block. */
export interface Websocket {
  key: string
  host: string
  port: number
  forceTls: boolean
  path: string
}

/** laravel-echo as front ends set it up: everything that is not here is its default. */
export function openEcho(url: string, websocket: Websocket, token: string) {
  const echo = new Echo<'reverb'>({
    broadcaster: 'reverb',
    Pusher: module,
    key: websocket.key,
    wsHost: websocket.host,
    wsPath: websocket.path,
    wsPort: websocket.port,
    wssPort: websocket.port,
    forceTLS: websocket.forceTls,
    enabledTransports: ['ws', 'wss'],
    // In a browser the page says where it is and who is signed in.
    authEndpoint: `${url}/api/broadcasting/auth`,
    bearerToken: token,
  })
  return { echo, [Symbol.dispose]: () => echo.disconnect() }
}
