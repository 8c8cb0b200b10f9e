/// <reference types="vitest/config" />
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// `npm run dev` beside a running KQueen: everything but the portal is its.
const server = process.env.KQUEEN_SERVER ?? 'https://127.0.0.1:8443'

export default defineConfig({
  base: '/portal/',
  plugins: [react()],
  build: { outDir: 'dist', manifest: true, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/signin', '/setup', '/welcome', '/pages.css', '/docs', '/openapi.json', '/version', '/clusters/'].map(
        (path) => [path, { target: server, secure: false, changeOrigin: true, headers: { origin: server } }],
      ),
    ),
  },
  test: { environment: 'happy-dom', include: ['src/**/*.test.{ts,tsx}'] },
})
